### `waterline config` 与 `waterline doctor`。
