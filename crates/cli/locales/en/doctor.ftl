### `waterline config` and `waterline doctor`.
