"""The door for browsers that watch: one WebSocket, rows out, acknowledgements in."""
