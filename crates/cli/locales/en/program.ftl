### `run`, `plan`, `policy`, `convert`, `tokens`, `check` and what all commands share.
