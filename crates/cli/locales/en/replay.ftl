### `waterline replay` with `train` and `usage`.

replay-facts =
    { $sessions ->
        [one] 1 session
       *[other] { $sessions } sessions
    }, { $calls ->
        [one] 1 model call
       *[other] { $calls } model calls
    }, tokens counted { $method }, price list: { $prices }
replay-counted-by = by { $method }
replay-counted-by-model = with each model's tokenizer
replay-values =
    { $calls ->
        [one] 1 tool call
       *[other] { $calls } tool calls
    } needed { $values ->
        [one] 1 earlier value
       *[other] { $values } earlier values
    }
replay-all-valid = all contexts valid
replay-legend =
    retained: share of the needed values in the context
    intact: calls with all their values · verbatim: share of the context that is unchanged
    kept: share of the window that is unchanged right after a fold
    cost: relative to never folding · * best
replay-column-retained = retained
replay-column-intact = intact
replay-column-tokens = tokens
replay-column-most = max
replay-column-verbatim = verbatim
replay-column-kept = kept
replay-column-folds = folds
replay-column-cached = cached
replay-column-cost = cost
replay-column-invalid = invalid
replay-column-too-large = too large
replay-column-surprise = surprise
replay-legend-surprise =
    surprise: nats per token of the recorded answer, ± 95% interval over sessions, lower is better
    judged by { $model }: { $answers ->
        [one] 1 answer
       *[other] up to { $answers } answers
    } per policy and window
replay-judge-left-out =
    { $answers ->
        [one] 1 answer was
       *[other] { $answers } answers were
    } left out: a context was too long for the judge
replay-judging = answers judged by { $model }
replay-judge-no-model = { $url } lists no models; check that the server is running, or name one with --judge-model
replay-judge-unaligned = the tokens that { $url } returned do not contain the answer that was sent
replay-judge-failed = cannot judge with { $model }
replay-judge-too-long = the context does not fit into the judge's window; use smaller windows (--window) or a server with a larger one
replay-lost = Forgotten in { $session }
replay-lost-of-several = Forgotten in { $session }, the session with the most calls (choose another with --session ID)
replay-lost-count =
    { $lost } of { $values ->
        [one] 1 value
       *[other] { $values } values
    }
replay-lost-more = … { $count } more; --json lists all
replay-lost-others = For other policies, name them with --policy; --json lists the values of all
replay-lost-truncated = truncated before it was first sent
replay-lost-folded = lost with fold { $fold } before message { $before }
replay-lost-value = { $value }  from message { $seen } ({ $by }), { $cause }; { $tool } needed it in message { $needed }
replay-no-session = no session with a model call
replay-no-such-session = no session with a model call has the id { $id }
replay-no-prices = no price list named "{ $name }"; choose one of { $known }, or a model of the model table
replay-page-failed = cannot write the page
replay-dump-failed = cannot write the contexts
replay-dump-thread = a thread stopped while writing the contexts
replay-progress =
    { $count ->
        [one] 1 session replayed
       *[other] { $count } sessions replayed
    }

train-start = start
train-held-out = held out
train-shares = retained { $retained }  calls intact { $intact }
train-done =
    { $path }: learned from { $count ->
        [one] 1 fold
       *[other] { $count } folds
    }

usage-none = no session in these files reports the usage of its calls
usage-model = model
usage-prompts = prompts
usage-ratio = counted / real
usage-off = prompt off by
usage-calibrated = calibrated
usage-from-last = from the last call
