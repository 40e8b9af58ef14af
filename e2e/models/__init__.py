"""What the model of a real client is shown: Codex and Claude Code, driven by a scripted model service on loopback."""
