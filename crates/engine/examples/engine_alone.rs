//! The engine alone: a long conversation is folded when its window is full. No model is called.
//!
//! Run it with `cargo run -p waterline --example engine_alone`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use waterline::{Context, Message, PolicyError, ToolCall, Treatment};

fn main() -> Result<(), PolicyError> {
    // A window far smaller than the model's, so that a fold is due soon.
    let mut context = Context::builder().model("gpt-4o").policy("auto").window(4_000).build()?;
    context.push(Message::system("You are a careful engineer."));
    context.push(Message::user("Find out why the build fails, file by file."));

    for step in 0..80 {
        let id = format!("call_{step}");
        let arguments = format!("{{\"path\":\"src/part_{step}/mod.rs\"}}");
        context
            .push(Message::assistant_with_calls("", [ToolCall::new(&id, "read_file", arguments)]));
        context.push(Message::tool_result(
            &id,
            format!("// part {step}\n{}", "let x = compute();\n".repeat(30)),
        ));

        // A plan can be inspected before it is committed.
        let next = context.plan();
        let figures = next.tokens();
        if let Some(reasons) = next.reasons() {
            println!("step {step}: fold, because {reasons}");
            println!("  {} tokens of history, {} sent", figures.history, figures.context);
            for slot in next.slots().iter().filter(|slot| !slot.reasons.is_empty()) {
                println!(
                    "  {:>9} {:>3} messages {:>5} tokens: {}",
                    slot.treatment,
                    slot.sources.len(),
                    slot.tokens,
                    slot.reasons
                );
            }
        }

        // `commit` returns the messages to send. An application sends them here, pushes the answer,
        // and records the provider's token count: `context.record_usage(prompt_tokens)`.
        let messages = next.commit();
        assert!(!messages.is_empty());
    }

    println!(
        "\n{} messages were pushed, {} are sent:",
        context.history().len(),
        context.messages().count()
    );
    for slot in context.slots().iter().filter(|slot| slot.treatment == Treatment::Summary) {
        for message in slot.views.iter().filter_map(|view| view.message(context.history())) {
            println!("{}", message.text());
        }
    }
    Ok(())
}
