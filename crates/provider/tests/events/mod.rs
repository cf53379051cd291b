//! One answer as each provider streams it: reasoning, text, two calls.

use waterline::message::Wire;

/// Returns the events of the answer for a wire.
pub(crate) fn events(wire: Wire) -> &'static [&'static str] {
    match wire.name() {
        "anthropic" => &[
            concat!(
                r#"{"type":"message_start","message":{"id":"m1","model":"claude-x","#,
                r#""usage":{"input_tokens":10,"cache_read_input_tokens":90,"#,
                r#""cache_creation_input_tokens":5,"output_tokens":1}}}"#
            ),
            r#"{"type":"ping"}"#,
            concat!(
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","#,
                r#""thinking":"","signature":""}}"#
            ),
            concat!(
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","#,
                r#""thinking":"Let me "}}"#
            ),
            concat!(
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","#,
                r#""thinking":"see."}}"#
            ),
            concat!(
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","#,
                r#""signature":"c2ln"}}"#
            ),
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
            concat!(
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","#,
                r#""text":"I will "}}"#
            ),
            concat!(
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","#,
                r#""text":"look: 数据."}}"#
            ),
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c1","name":"read","input":{}}}"#,
            concat!(
                r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","#,
                r#""partial_json":""}}"#
            ),
            concat!(
                r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","#,
                r#""partial_json":"{\"path\": \"a"}}"#
            ),
            concat!(
                r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","#,
                r#""partial_json":".rs\", \"n\": 1.0}"}}"#
            ),
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c2","name":"now","input":{}}}"#,
            r#"{"type":"content_block_stop","index":3}"#,
            concat!(
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","#,
                r#""stop_sequence":null},"usage":{"output_tokens":42}}"#
            ),
            r#"{"type":"message_stop"}"#,
        ],
        "openai-chat" => &[
            concat!(
                r#"{"id":"x","model":"gpt-x","choices":[{"index":0,"delta":{"role":"assistant","#,
                r#""content":""},"finish_reason":null}]}"#
            ),
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Let me "}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"see."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"I will "}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"look: 数据."}}]}"#,
            concat!(
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","#,
                r#""type":"function","function":{"name":"read","arguments":""}}]}}]}"#
            ),
            concat!(
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"#,
                r#""function":{"arguments":"{\"path\": \"a"}}]}}]}"#
            ),
            concat!(
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"#,
                r#""function":{"arguments":".rs\", \"n\": 1.0}"}}]}}]}"#
            ),
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"now","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            concat!(
                r#"{"choices":[],"usage":{"prompt_tokens":105,"completion_tokens":42,"#,
                r#""prompt_tokens_details":{"cached_tokens":90}}}"#
            ),
            "[DONE]",
        ],
        "openai-responses" => &[
            r#"{"type":"response.created","response":{"id":"r"}}"#,
            concat!(
                r#"{"type":"response.output_item.added","output_index":0,"#,
                r#""item":{"type":"reasoning","id":"rs","summary":[]}}"#
            ),
            concat!(
                r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"#,
                r#""delta":"Let me "}"#
            ),
            r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"see."}"#,
            concat!(
                r#"{"type":"response.output_item.done","output_index":0,"#,
                r#""item":{"type":"reasoning","id":"rs","encrypted_content":"c2ln","#,
                r#""summary":[{"type":"summary_text","text":"Let me see."}]}}"#
            ),
            concat!(
                r#"{"type":"response.output_item.added","output_index":1,"#,
                r#""item":{"type":"message","role":"assistant","content":[]}}"#
            ),
            r#"{"type":"response.output_text.delta","output_index":1,"delta":"I will "}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"delta":"look: 数据."}"#,
            concat!(
                r#"{"type":"response.output_item.done","output_index":1,"#,
                r#""item":{"type":"message","role":"assistant","#,
                r#""content":[{"type":"output_text","text":"I will look: 数据.","#,
                r#""annotations":[]}]}}"#
            ),
            concat!(
                r#"{"type":"response.output_item.added","output_index":2,"#,
                r#""item":{"type":"function_call","call_id":"c1","name":"read","arguments":""}}"#
            ),
            concat!(
                r#"{"type":"response.function_call_arguments.delta","output_index":2,"#,
                r#""delta":"{\"path\": \"a"}"#
            ),
            concat!(
                r#"{"type":"response.function_call_arguments.delta","output_index":2,"#,
                r#""delta":".rs\", \"n\": 1.0}"}"#
            ),
            concat!(
                r#"{"type":"response.output_item.done","output_index":2,"#,
                r#""item":{"type":"function_call","call_id":"c1","name":"read","#,
                r#""arguments":"{\"path\": \"a.rs\", \"n\": 1.0}"}}"#
            ),
            concat!(
                r#"{"type":"response.output_item.added","output_index":3,"#,
                r#""item":{"type":"function_call","call_id":"c2","name":"now","arguments":""}}"#
            ),
            r#"{"type":"response.function_call_arguments.delta","output_index":3,"delta":"{}"}"#,
            r#"{"type":"response.output_item.done","output_index":3,"item":{"type":"function_call","call_id":"c2","name":"now","arguments":"{}"}}"#,
            concat!(
                r#"{"type":"response.completed","response":{"model":"gpt-x","#,
                r#""status":"completed","usage":{"input_tokens":105,"#,
                r#""input_tokens_details":{"cached_tokens":90},"output_tokens":42}}}"#
            ),
        ],
        _ => &[
            concat!(
                r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Let me ","#,
                r#""thought":true}]}}],"modelVersion":"gemini-x"}"#
            ),
            concat!(
                r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"see.","#,
                r#""thought":true}]}}]}"#
            ),
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"I will "}]}}]}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"look: 数据."}]}}]}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"read","args":{"path": "a.rs", "n": 1.0}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"c2","name":"now","args":{}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":105,"cachedContentTokenCount":90,"candidatesTokenCount":30,"thoughtsTokenCount":12}}"#,
        ],
    }
}
