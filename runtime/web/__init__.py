"""The browser's door: one folder per page. A wish becomes one service call; no rule lives here."""
