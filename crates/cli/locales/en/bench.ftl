### `waterline bench`.

bench-not-a-set = { $path }, line { $line } is not a conversation with questions: { $cause }; see `waterline bench recall --help` for the format
bench-empty = { $path } has no conversation
bench-column-set = set
bench-column-questions = questions
bench-keyword = keyword
bench-vector = vector
bench-hybrid = hybrid
bench-legend =
    percent · recall@N: share of the messages that answer a question among the first N
    hit@10: questions with at least one of them among the first 10 · mrr: mean of 1 / position of the first
    in 2K: share of them in 2,000 tokens of whole messages, the best first
