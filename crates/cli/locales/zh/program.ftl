### `run`、`plan`、`policy`、`convert`、`tokens`、`check` 以及各命令共用的文字。
