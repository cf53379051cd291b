//! Encoders: `waterline models`, `doctor`, and search by meaning with a server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod world;

use serde_json::{Value, json};
use waterline_testkit::script::says;
use waterline_testkit::server::{Reply, Server};
use world::{World, until};

/// Returns a table of word vectors with two words.
fn table() -> Vec<u8> {
    let header = r#"{"embedding.weight":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}}"#;
    let mut table = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    table.extend(header.bytes());
    table.extend([0x00, 0x3c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x3c]);
    table
}

const TOKENIZER: &str = r#"{"model":{"vocab":{"▁a":0,"▁b":1},"merges":["▁ a","▁ b"]}}"#;

/// Returns the hash that an error suggests to accept.
fn suggested(error: &str) -> String {
    error.split("--sha256 ").nth(1).unwrap().trim().to_owned()
}

#[test]
fn encoders_are_added_listed_and_removed() {
    let world = World::new(Vec::new());
    let (code, out, _) = world.plain(&["models", "list"]);
    assert!(code == 0 && out.contains("keywords only"), "{out}");
    let (_, out, _) = world.plain(&["doctor", "--db", "log.db"]);
    assert!(
        out.contains("--  search by meaning: no encoder") && out.contains("models add"),
        "{out}"
    );
    std::fs::create_dir(world.path("tiny")).unwrap();
    std::fs::write(world.path("tiny/words.safetensors"), table()).unwrap();
    world.write("tiny/tokenizer.json", TOKENIZER);
    let (code, _, first) = world.plain(&["models", "add", "tiny/words.safetensors"]);
    assert!(code == 2 && first.contains("not one of the tested"), "{first}");
    let (_, _, second) = world.plain(&["models", "add", "tiny/tokenizer.json"]);
    let [model, tokenizer] = [&first, &second].map(|error| suggested(error));
    let (code, out, _) =
        world.plain(&["models", "add", "tiny/words.safetensors", "--sha256", &model]);
    assert!(code == 0 && out.contains("cannot be used yet") && out.contains("tokenizer"), "{out}");
    let both = ["models", "add", "tiny", "--sha256", &model, "--sha256", &tokenizer];
    let (code, out, err) = world.plain(&both);
    assert!(code == 0 && out.contains("Added tiny (word vectors, "), "{out}{err}");
    let (_, out, _) = world.plain(&["models", "list", "--json"]);
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&listed["name"], &listed["kind"]), (&json!("tiny"), &json!("words")));
    let (_, out, _) = world.plain(&["doctor", "--db", "log.db"]);
    assert!(out.contains("ok  search by meaning: tiny (word vectors)"), "{out}");
    let (code, out, _) = world.plain(&["models", "remove", "tiny"]);
    assert!(code == 0 && out.contains("Removed tiny"), "{out}");
    let (code, _, err) = world.plain(&["models", "remove", "tiny"]);
    assert!(code == 2 && err.contains("models list"), "{err}");
}

#[test]
fn a_file_that_is_not_a_model_is_rejected() {
    let world = World::new(Vec::new());
    world.write("odd/odd.safetensors", "not a table");
    world.write("odd/tokenizer.json", TOKENIZER);
    let (_, _, first) = world.plain(&["models", "add", "odd/odd.safetensors"]);
    let (_, _, second) = world.plain(&["models", "add", "odd/tokenizer.json"]);
    let hashes = [&first, &second].map(|error| suggested(error));
    let arguments = ["models", "add", "odd", "--sha256", &hashes[0], "--sha256", &hashes[1]];
    let (code, _, err) = world.plain(&arguments);
    assert!(code == 2 && err.contains("word vectors"), "{err}");
    let (_, out, _) = world.plain(&["models", "list"]);
    assert!(out.contains("keywords only"), "{out}");
}

/// A default build cannot run ONNX models, and says how to get one that can.
#[cfg(not(feature = "onnx"))]
#[test]
fn an_onnx_model_without_support_says_what_to_do() {
    let world = World::new(Vec::new());
    world.write("mini/model.onnx", "a model");
    world.write("mini/tokenizer.json", TOKENIZER);
    let hashes = ["mini/model.onnx", "mini/tokenizer.json"].map(|file| {
        let (_, _, error) = world.plain(&["models", "add", file]);
        suggested(&error)
    });
    let arguments = ["models", "add", "mini", "--sha256", &hashes[0], "--sha256", &hashes[1]];
    let (_, out, _) = world.plain(&arguments);
    assert!(out.contains("--features onnx") && out.contains("use-multilingual"), "{out}");
}

/// Starts a server that knows that cats and kittens are similar.
fn encoder() -> (Server, tokio::runtime::Runtime) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = Server::start(|received| {
        let body: Value = serde_json::from_str(&received.body).unwrap();
        let vector = |(at, text): (usize, &Value)| {
            let text = text.as_str().unwrap();
            let is_cat = text.contains("cat") || text.contains("kitten");
            json!({"index": at, "embedding": if is_cat { [1.0, 0.0] } else { [0.0, 1.0] }})
        };
        let data: Vec<Value> =
            body["input"].as_array().unwrap().iter().enumerate().map(vector).collect();
        Reply::status(200, json!({"data": data}).to_string())
    });
    (runtime.block_on(server).unwrap(), runtime)
}

#[test]
fn what_was_said_is_found_by_its_meaning() {
    let world = World::new((0..40).map(|_| says("noted")).collect());
    let (server, _runtime) = encoder();
    let config = format!("[recall]\nencoder = \"{}\"\nmodel = \"embed-1\"\n", server.url);
    world.write(".config/waterline/config.toml", &config);
    for text in ["My cat sleeps all day long.", "The boat is moored at the quay."] {
        assert_eq!(world.run("run", &[text]).0, 0);
    }
    // A process that ends early leaves the rest to the next one.
    until("the messages are encoded", || {
        world.run("run", &["Anything else for today?"]);
        let (code, out, _) = world.plain(&["recall", "kitten", "--db", "log.db"]);
        code == 0 && out.contains("My cat sleeps") && out.contains("similar")
    });
    let (_, out, _) = world.plain(&["recall", "kitten", "--db", "log.db"]);
    assert!(!out.contains("The boat"), "{out}");
    let (code, out, _) = world.plain(&["doctor", "--db", "log.db", "--model", "offline", "--ask"]);
    assert!(out.contains("ok  search by meaning: embed-1 at http"), "{code} {out}");
    let (_, out, _) = world.plain(&["sessions", "verify", "--db", "log.db"]);
    assert!(out.contains("intact"), "{out}");
}

#[test]
fn lines_of_the_memory_are_found_by_their_meaning() {
    let world = World::new((0..40).map(|_| says("noted")).collect());
    let (server, _runtime) = encoder();
    let config = format!(
        "[recall]\nencoder = \"{}\"\nmodel = \"embed-1\"\nencoder_timeout = 5000\n",
        server.url
    );
    world.write(".config/waterline/config.toml", &config);
    let memory = "# Memory\n\n- My cat sleeps all day long.\n- The boat is at the quay.\n";
    world.write(".local/share/waterline/MEMORY.md", memory);
    let search = || {
        world.write("lines", "Anything else for today?\n/memory search kitten\n");
        let lines = std::fs::File::open(world.path("lines")).unwrap();
        World::ended(world.command("chat", &[]).stdin(lines)).1
    };
    // A process that ends early leaves the rest to the next one.
    until("the lines are encoded", || search().contains("MEMORY.md: My cat sleeps"));
    assert!(!search().contains("The boat"));
}

#[test]
fn a_wrong_setting_is_explained() {
    let world = World::new(Vec::new());
    for (setting, expected) in [
        ("encoder = \"other\"", "waterline models add"),
        ("encoder = \"http://127.0.0.1:9\"", "recall.model"),
        ("encoder_timeout = 0", "from 1 to 60000"),
    ] {
        world.write(".config/waterline/config.toml", &format!("[recall]\n{setting}\n"));
        let (code, out, _) = world.plain(&["doctor", "--db", "log.db"]);
        assert!(code == 1 && out.contains(expected), "{setting}: {out}");
    }
}
