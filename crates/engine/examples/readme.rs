//! The example of the README: `cargo run -p waterline --example readme`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use waterline::{Context, Message, PolicyError};

fn main() -> Result<(), PolicyError> {
    let mut context = Context::builder().model("gpt-4o").policy("auto").build()?;
    context.push(Message::system("You are a careful engineer."));
    context.push(Message::user("Why does the build fail?"));

    let next = context.plan(); // what would be sent, and why
    println!("{} of {} tokens", next.tokens().context, next.tokens().window);

    for message in next.commit() {
        println!("{:?}: {}", message.role, message.text()); // send these
    }
    context.push(Message::assistant("A dependency is missing.")); // the answer
    Ok(())
}
