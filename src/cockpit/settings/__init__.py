"""Settings, trust and keys: files of the person's own. Standard library, tomlkit, platformdirs."""
