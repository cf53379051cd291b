use super::*;

#[test]
fn commands_are_found_where_they_start() {
    let texts = [
        ("ls -la", "»ls -la"),
        ("a; b && c || d & e\nf", "»a\n»b\n»c\n»d\n»e\n»f"),
        ("a | b |& c", "»a | »b | »c"),
        ("X=1 Y='2 3' /bin/rm -r x", "X=1 Y=2 3 »rm -r x"),
        ("sudo -u root env A=b nice -n 5 rm x", "»sudo -u root »env A=b »nice -n 5 »rm x"),
        ("if a; then b; else c; fi", "»if »a\n»then »b\n»else »c\n»fi"),
        ("find . -exec rm {} \\; -print", "»find . -exec »rm {} ; -print"),
        (
            "timeout -s KILL 5s xargs -0 -I {} cp {} x",
            "»timeout -s KILL 5s »xargs -0 -I {} »cp {} x",
        ),
        ("> log 2>&1 a >b c", "> log 2>&1 »a >b c"),
        ("a&>b; c>d", "»a &>b\n»c >d"),
        ("# b\na # c", "»a"),
    ];
    for (text, expected) in texts {
        assert_eq!(commands(text).replace(MARK, "»"), expected, "{text}");
    }
}

#[test]
fn quotes_neither_hide_nor_create_commands() {
    let texts = [
        (r#"r\m "-r" $'x' '; b'"#, "»rm -r x ; b"),
        ("\"a b\" \\\n c", "»a b c\n»a b"),
        ("echo \"$(a \"$(b)\") c\" d", "»b\n»a $()\n»echo $() c d"),
        ("echo `a`; (b)", "»a\n»echo $()\n»b\n»()"),
        (r"$'\x72m' $'\055\u0072'", "»rm -r"),
        ("{rm,-rf,x}", "»{rm,-rf,x}\n»rm -rf x"),
        ("bash -c \"$(a)\"", "»a\n»bash -c »$()"),
        ("bash -lc 'a; b'", "»bash -lc »a; b\n»a\n»b"),
        ("bash <<< 'a; b'", "»bash »a; b\n»a\n»b"),
        ("echo don't; a", "»echo dont; a\n»echo dont\n»a\n»[unread]"),
    ];
    for (text, expected) in texts {
        assert_eq!(commands(text).replace(MARK, "»"), expected, "{text}");
    }
}

#[test]
fn here_documents_are_scripts_only_if_something_runs_them() {
    let texts = [
        ("cat <<'E' > x\na don't\nE\nb", "»cat > x\n»b"),
        ("sh <<-E\n\ta\n\tE\nb", "»sh\n»b\n»a"),
        ("cat <<E\n$(a)\nE", "»cat\n»a\n»$()"),
        ("echo $((1<<2))\na", "1<<2\n»()\n»echo $()\n»a"),
        ("cat <<E\na", "»cat\n»a\n»[unread]"),
    ];
    for (text, expected) in texts {
        assert_eq!(commands(text).replace(MARK, "»"), expected, "{text}");
    }
}

#[test]
fn any_text_can_be_read() {
    for text in [
        "", "'", "\"", "\\", "`", "$(", ")", "((((", "<<", "<<<", "<<E", "|", "&", ">", "#",
        "\u{1}", "$'\\",
    ] {
        commands(text);
    }
    let deep = "(".repeat(100_000);
    assert!(commands(&deep).len() < 1_000_000);
}

#[test]
fn unclosed_text_is_reported_as_unread() {
    for text in ["echo 'a", "echo \"a", "echo $(a", "(a", "echo `a", "cat <<E", "cat <<E\na"] {
        assert!(commands(text).ends_with(UNREAD), "{text}");
    }
    for text in [
        "echo 'a'",
        "(a)",
        "cat <<E\na\nE",
        "case $1 in\na) b;;\nesac",
        "echo $((1 << 2))",
        "f() { a; }",
    ] {
        assert!(!commands(text).contains(UNREAD), "{text}");
    }
    assert!(
        commands(&"sh -c 'a b'; ".repeat(100)).ends_with(UNREAD),
        "more scripts than the limit"
    );
    assert!(
        commands(&format!("bash -c '{}'", "a ".repeat(MAX_BYTES))).ends_with(UNREAD),
        "more bytes than the limit"
    );
}
