"""Other people's tools, over the official SDK: servers started, asked, watched and pinned. Decides nothing of
what is allowed. The SDK is imported when the first server starts, never before."""
