//! MCP servers: a program over standard input and output, and a server over HTTP.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use waterline_agent::mcp::{Connected, McpTool, Server, Transport, connect};
use waterline_agent::tool::{Callable, Capability};
use waterline_testkit::server::{self, Received, Reply};

const SECRET: &str = "a-very-secret-key";

/// Long enough for a busy machine.
const PATIENT: Duration = Duration::from_secs(30);

/// Short enough for a test that waits for the timeout.
const IMPATIENT: Duration = Duration::from_secs(2);

/// A server written in shell. It lists its tools on two pages.
const PROGRAM: &str = r#"
reads=',"annotations":{"readOnlyHint":true}'
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { answer '{"content":[{"type":"text","text":"'"$1"'"}]}'; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":{"type":"object"}%s}' "$1" "$2" "$3"; }
echo 'a line on standard error' >&2
while IFS= read -r line; do
    rest=${line#*\"id\":}
    id=${rest%%[!0-9]*}
    case $line in
    *'"method":"initialize"'*)
        answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}' ;;
    *'"method":"tools/list"'*'"cursor":"2"'*)
        answer '{"tools":['"$(tool hang Waits),$(tool die Ends),$(tool pid Tells),$(tool environment Tells)"']}' ;;
    *'"method":"tools/list"'*)
        answer '{"tools":['"$(tool fail Fails),$(tool echo 'Says it\u001b again' "$reads")"'],"nextCursor":"2"}' ;;
    *'"name":"echo"'*) word=${line#*\"word\":\"}; text "you said ${word%%\"*}" ;;
    *'"name":"fail"'*) answer '{"content":[{"type":"text","text":"the tide is out"}],"isError":true}' ;;
    *'"name":"die"'*) exit 0 ;;
    *'"name":"pid"'*) text "$$" ;;
    *'"name":"environment"'*) text "${TIDE-none} ${CARGO_MANIFEST_DIR-none} $PWD" ;;
    esac
done
"#;

fn program(script: &str, timeout: Duration) -> Server {
    let arguments = vec!["-c".to_owned(), script.to_owned()];
    let environment = BTreeMap::from([("TIDE".to_owned(), "high".to_owned())]);
    let transport = Transport::Command {
        program: "/bin/sh".to_owned(),
        arguments,
        environment,
        directory: PathBuf::from("/usr"),
    };
    Server { name: "demo".to_owned(), transport, tools: None, timeout }
}

fn at(url: &str, timeout: Duration) -> Server {
    let headers = BTreeMap::from([("Authorization".to_owned(), format!("Bearer {SECRET}"))]);
    let transport = Transport::Http { url: format!("{url}/mcp"), headers };
    Server { name: "demo".to_owned(), transport, tools: None, timeout }
}

fn find<'a>(connected: &'a Connected, name: &str) -> &'a McpTool {
    connected.tools.iter().find(|tool| tool.name() == name).unwrap()
}

async fn call_text(connected: &Connected, name: &str) -> String {
    find(connected, name).invoke(json!({})).await.unwrap().text_content()
}

fn names(connected: &Connected) -> Vec<&str> {
    connected.tools.iter().map(|tool| tool.name()).collect()
}

#[tokio::test]
async fn the_tools_of_a_program_are_listed_and_called() {
    let connected = connect(&program(PROGRAM, PATIENT)).await.unwrap();
    let all =
        ["demo__die", "demo__echo", "demo__environment", "demo__fail", "demo__hang", "demo__pid"];
    assert_eq!(names(&connected), all);

    let echo = find(&connected, "demo__echo");
    assert_eq!(echo.about(), "Says it again");
    assert_eq!(echo.schema(), json!({"type": "object", "properties": {}}));
    assert_eq!(echo.capability(), Capability::Network, "a server's claims are untrusted");
    assert_eq!(find(&connected, "demo__fail").capability(), Capability::Network);

    assert_eq!(echo.invoke(json!({"word": "tide"})).await.unwrap().text_content(), "you said tide");
    let failure = find(&connected, "demo__fail").invoke(Value::Null).await.unwrap_err();
    assert_eq!((failure.text.as_str(), failure.transient), ("the tide is out", false));
    let failure = echo.invoke(json!("tide")).await.unwrap_err();
    assert!(
        failure.text.contains("demo__echo") && failure.text.contains("object"),
        "{}",
        failure.text
    );
}

#[tokio::test]
async fn only_enabled_tools_are_available() {
    let mut server = program(PROGRAM, PATIENT);
    server.tools = Some(vec!["echo".to_owned(), "sail".to_owned()]);
    let connected = connect(&server).await.unwrap();
    assert_eq!(names(&connected), ["demo__echo"]);
    assert_eq!(connected.missing, ["sail"]);
}

#[tokio::test]
async fn a_program_gets_only_the_configured_environment_and_directory() {
    let connected = connect(&program(PROGRAM, PATIENT)).await.unwrap();
    assert_eq!(call_text(&connected, "demo__environment").await, "high none /usr");
}

#[tokio::test]
async fn a_call_times_out_and_the_next_one_is_answered() {
    let connected = connect(&program(PROGRAM, IMPATIENT)).await.unwrap();
    let failure = find(&connected, "demo__hang").invoke(json!({})).await.unwrap_err();
    assert!(!failure.transient, "it may have taken effect");
    assert_eq!(
        failure.text,
        "MCP server demo: hang timed out after 2s. It may still have taken effect."
    );
    let echo = find(&connected, "demo__echo");
    assert_eq!(echo.invoke(json!({"word": "ebb"})).await.unwrap().text_content(), "you said ebb");
}

#[tokio::test]
async fn an_exited_program_is_reported_by_name() {
    let connected = connect(&program(PROGRAM, PATIENT)).await.unwrap();
    for tool in ["demo__die", "demo__echo"] {
        let failure = find(&connected, tool).invoke(json!({})).await.unwrap_err();
        assert!(
            failure.text.contains("demo") && failure.text.contains("exited"),
            "{}",
            failure.text
        );
    }
}

#[tokio::test]
async fn a_program_is_killed_with_its_last_tool() {
    let connected = connect(&program(PROGRAM, PATIENT)).await.unwrap();
    let pid = Pid::from_raw(call_text(&connected, "demo__pid").await.parse().unwrap()).unwrap();
    test_kill_process(pid).unwrap();
    drop(connected);
    let gone = async {
        while test_kill_process(pid).is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENT, gone).await.unwrap();
}

#[tokio::test]
async fn a_program_that_does_not_start_or_answer_is_an_error_with_a_reason() {
    let mut server = program("", PATIENT);
    server.transport = Transport::Command {
        program: "/nowhere/tide-server".to_owned(),
        arguments: Vec::new(),
        environment: BTreeMap::new(),
        directory: PathBuf::from("/"),
    };
    let error = connect(&server).await.unwrap_err().to_string();
    assert!(error.starts_with("MCP server demo: cannot start /nowhere/tide-server: "), "{error}");

    let error = connect(&program("exit 3", PATIENT)).await.unwrap_err().to_string();
    assert!(error.contains("demo") && error.contains("exited"), "{error}");

    let error = connect(&program("while read -r line; do :; done", IMPATIENT)).await.unwrap_err();
    assert_eq!(error.to_string(), "MCP server demo: not ready after 2s (timeout)");
}

/// Answers a request as a stateful server with these tools.
fn respond(request: &Received, tools: &[&str], call: impl Fn(&Value) -> Value) -> Reply {
    let Ok(message) = serde_json::from_str::<Value>(&request.body) else {
        // A request for a server stream, or to delete the session.
        return Reply::status(405, "");
    };
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({"result": {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "demo", "version": "1"},
        }}),
        "tools/list" => {
            let schema = json!({"type": "object", "properties": {}});
            let tool = |name: &&str| json!({"name": name, "inputSchema": schema});
            json!({"result": {"tools": tools.iter().map(tool).collect::<Vec<_>>()}})
        }
        "tools/call" if message["params"]["name"] == "hang" => return Reply::Hang,
        "tools/call" => call(&message["params"]),
        _ => return Reply::status(202, ""),
    };
    let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
    answer.as_object_mut().unwrap().extend(result.as_object().unwrap().clone());
    let headers = "content-type: application/json\r\nmcp-session-id: s1\r\n".to_owned();
    Reply::Status { status: 200, headers, body: answer.to_string() }
}

/// Returns the argument `word`.
fn echo(params: &Value) -> Value {
    let text = format!("you said {}", params["arguments"]["word"].as_str().unwrap());
    json!({"result": {"content": [{"type": "text", "text": text}]}})
}

#[tokio::test]
async fn the_tools_of_a_server_over_http_are_listed_and_called() {
    let server = server::Server::start(|request| respond(request, &["echo"], echo)).await.unwrap();
    let connected = connect(&at(&server.url, PATIENT)).await.unwrap();
    assert_eq!(names(&connected), ["demo__echo"]);
    let output = find(&connected, "demo__echo").invoke(json!({"word": "tide"})).await.unwrap();
    assert_eq!(output.text_content(), "you said tide");
    let received = server.received();
    let key = format!("Bearer {SECRET}");
    assert!(received.iter().all(|request| request.path == "/mcp"));
    assert!(received.iter().all(|request| request.header("authorization") == Some(key.as_str())));
}

#[tokio::test]
async fn a_server_over_http_that_does_not_answer_times_out() {
    let server = server::Server::start(|request| respond(request, &["hang"], echo)).await.unwrap();
    let connected = connect(&at(&server.url, IMPATIENT)).await.unwrap();
    let failure = find(&connected, "demo__hang").invoke(json!({})).await.unwrap_err();
    assert!(!failure.transient, "it may have taken effect");
    assert_eq!(
        failure.text,
        "MCP server demo: hang timed out after 2s. It may still have taken effect."
    );
}

#[tokio::test]
async fn a_removed_tool_is_distinguished_from_an_invalid_call() {
    let refuses = |_: &Value| json!({"error": {"code": -32602, "message": "Invalid params"}});
    let gone = Arc::new(AtomicBool::new(false));
    let is_gone = Arc::clone(&gone);
    let server = server::Server::start(move |request| {
        let tools: &[&str] = if is_gone.load(Ordering::SeqCst) { &[] } else { &["echo"] };
        respond(request, tools, refuses)
    });
    let server = server.await.unwrap();
    let connected = connect(&at(&server.url, PATIENT)).await.unwrap();
    let failure = find(&connected, "demo__echo").invoke(json!({})).await.unwrap_err();
    assert_eq!(failure.text, "MCP server demo: echo failed: Invalid params");
    gone.store(true, Ordering::SeqCst);
    let failure = find(&connected, "demo__echo").invoke(json!({})).await.unwrap_err();
    assert_eq!(failure.text, "MCP server demo no longer has the tool echo.");
    assert!(!failure.transient);
}

#[tokio::test]
async fn connection_errors_over_http_contain_no_secrets() {
    let refuses =
        server::Server::start(|_| Reply::status(401, format!("bad key {SECRET}"))).await.unwrap();
    let error = connect(&at(&refuses.url, PATIENT)).await.unwrap_err().to_string();
    assert!(
        error.contains("demo") && error.contains("401") && error.contains("bad key"),
        "{error}"
    );
    assert!(!error.contains(SECRET), "{error}");

    let unused = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = connect(&at(&format!("http://{unused}"), PATIENT)).await.unwrap_err().to_string();
    assert!(error.starts_with("MCP server demo: cannot connect: "), "{error}");
    assert!(error.to_lowercase().contains("refused") && !error.contains(SECRET), "{error}");
}

/// A server whose pages of tools never end, each with its own cursor.
#[tokio::test]
async fn tools_pages_and_definitions_of_a_server_are_limited() {
    let page = |message: &Value| {
        let number: usize = message["params"]["cursor"].as_str().unwrap_or("0").parse().unwrap();
        let tool = |at: usize| json!({"name": format!("t{}", number * 10 + at), "inputSchema": {"type": "object"}});
        let tools: Vec<Value> = (0..10).map(tool).collect();
        json!({"result": {"tools": tools, "nextCursor": (number + 1).to_string()}})
    };
    let server = server::Server::start(move |request| {
        let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let mut reply = respond(request, &[], echo);
        if message["method"] == "tools/list" {
            let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
            answer.as_object_mut().unwrap().extend(page(&message).as_object().unwrap().clone());
            let headers = "content-type: application/json\r\nmcp-session-id: s1\r\n".to_owned();
            reply = Reply::Status { status: 200, headers, body: answer.to_string() };
        }
        reply
    });
    let server = server.await.unwrap();
    let connected = connect(&at(&server.url, PATIENT)).await.unwrap();
    assert_eq!(connected.tools.len(), 200);
    let text = format!("{}", connected.refused[0]);
    assert!(text.contains("MCP server demo: ") && text.contains("mcp.demo.tools"), "{text}");
    assert!(server.received().len() < 60, "{} requests", server.received().len());

    // The tools that the user names are found behind others, and the list ends somewhere.
    let mut only = at(&server.url, PATIENT);
    only.tools = Some(vec!["t437".to_owned(), "t9999".to_owned()]);
    let connected = connect(&only).await.unwrap();
    assert_eq!(names(&connected), ["demo__t437"]);
    assert_eq!(connected.missing, ["t9999"]);
}

#[tokio::test]
async fn a_huge_answer_over_http_is_refused() {
    let huge = |_: &Value| json!({"result": {"content": "x".repeat(17 << 20)}});
    let server =
        server::Server::start(move |request| respond(request, &["echo"], huge)).await.unwrap();
    let connected = connect(&at(&server.url, PATIENT)).await.unwrap();
    let failure = find(&connected, "demo__echo").invoke(json!({})).await.unwrap_err();
    assert!(failure.text.contains("more than 16 MB"), "{}", failure.text);
}

#[tokio::test]
async fn a_large_definition_is_refused() {
    let large = "x".repeat(70_000);
    let server = server::Server::start(move |request| {
        let tools = [large.as_str(), "echo"];
        respond(request, &tools, echo)
    });
    let server = server.await.unwrap();
    let connected = connect(&at(&server.url, PATIENT)).await.unwrap();
    assert_eq!(names(&connected), ["demo__echo"]);
    assert!(
        connected.refused[0].to_string().contains("larger than 64 KB"),
        "{:?}",
        connected.refused
    );
}
