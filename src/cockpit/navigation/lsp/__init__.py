"""Language servers of one root: started, spoken to, kept within bounds and ended. Writes no source file
and decides nothing of what answers when no server does."""
