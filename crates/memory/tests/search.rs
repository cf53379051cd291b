//! Search as a caller sees it: what is found, in which order, and why.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use waterline_memory::{Index, Message, PinKind, Reason, Weights, date_of};

/// Creates an index of (session, speaker, date, text).
fn index(messages: &[(&str, &str, &str, &str)]) -> Index {
    let mut index = Index::new();
    for (at, (session, speaker, date, text)) in messages.iter().enumerate() {
        let message = Message::new(session, speaker, text).with_date(date_of(date));
        assert_eq!(index.add(&message), at);
    }
    index
}

fn order(index: &Index, question: &str) -> Vec<usize> {
    index.search(question, index.len()).iter().map(|hit| hit.message).collect()
}

const TRIP: [(&str, &str, &str, &str); 6] = [
    ("s1", "user", "", "We fly to Lisbon on Friday."),
    ("s1", "assistant", "", "Lisbon is lovely. Shall I look for a hotel?"),
    ("s1", "user", "", "Yes, near the river please."),
    ("s2", "user", "", "The invoice number is 4711."),
    ("s2", "assistant", "", "I have stored it."),
    ("s2", "user", "", "Always answer in French."),
];

#[test]
fn inflected_words_are_found_and_named_as_reasons() {
    let index = index(&TRIP);
    let hits = index.search("what were the invoices' numbers?", 1);
    assert_eq!(hits[0].message, 3);
    let words = vec!["invoices".to_owned(), "numbers".to_owned()];
    assert_eq!(hits[0].reasons[0], Reason::Words(words));
}

#[test]
fn the_user_is_found_before_the_assistant() {
    assert_eq!(order(&index(&TRIP), "Lisbon")[..2], [0, 1]);
}

#[test]
fn the_answer_to_a_message_is_found_with_it() {
    let index = index(&TRIP);
    let hits = index.search("Which hotel?", 2);
    assert_eq!(hits[0].message, 1);
    // It shares no word with the question.
    assert_eq!(hits[1].message, 0);
    assert_eq!(hits[1].reasons[0], Reason::Neighbor(1));
}

#[test]
fn dated_notes_of_one_person_are_not_neighbors() {
    let notes = [
        ("me", "user", "2024-03-05", "Planted tomatoes."),
        ("me", "user", "2024-03-05", "Called the bank."),
        ("me", "user", "2024-03-05", "Paid the rent."),
    ];
    let hits = index(&notes).search("tomatoes", 3);
    let is_neighbor = |reason: &Reason| matches!(reason, Reason::Neighbor(_));
    assert!(!hits.iter().any(|hit| hit.reasons.iter().any(is_neighbor)), "{hits:?}");
}

#[test]
fn neighbors_are_those_of_the_session_even_if_sessions_take_turns() {
    let mixed = [
        ("s1", "user", "", "Where is the telescope?"),
        ("s2", "user", "", "Dinner is at eight."),
        ("s1", "assistant", "", "In the attic."),
    ];
    assert_eq!(order(&index(&mixed), "telescope"), [0, 2, 1]);
}

#[test]
fn a_standing_instruction_is_found_without_a_common_word() {
    let index = index(&TRIP);
    let hits = index.search("Explain lifetimes to me", 1);
    assert_eq!(hits[0].message, 5);
    assert_eq!(hits[0].reasons, [Reason::Instruction]);
    let pins: Vec<_> = index.pins().collect();
    assert_eq!(pins, [(5, PinKind::Instruction, "Always answer in French.")]);
}

#[test]
fn only_the_user_gives_standing_instructions() {
    for speaker in ["assistant", "tool", "system", "Anna"] {
        let index = index(&[("s", speaker, "", "Always answer in French.")]);
        assert_eq!(index.pins().count(), 0, "{speaker}");
    }
}

#[test]
fn a_sentence_in_more_than_three_sessions_is_a_template() {
    let sessions = ["s1", "s2", "s3", "s4"];
    let messages = sessions.map(|session| (session, "user", "", "Always reply with one command."));
    assert_eq!(index(&messages[..3]).pins().count(), 3);
    let index = index(&messages);
    assert_eq!(index.pins().count(), 0);
    let reasons = index.search("unrelated", 4).into_iter().flat_map(|hit| hit.reasons);
    assert_eq!(reasons.count(), 0);
}

#[test]
fn a_named_person_and_a_named_date_count() {
    let talk = [
        ("s", "Anna", "2023-05-03", "I finished the report."),
        ("s", "Ben", "2023-05-03", "I finished the slides."),
        ("s", "Anna", "2023-08-20", "I finished the budget."),
    ];
    let index = index(&talk);
    assert_eq!(order(&index, "What did Ben finish?")[0], 1);
    let hits = index.search("What did Anna finish in August?", 1);
    assert_eq!(hits[0].message, 2);
    assert!(hits[0].reasons.contains(&Reason::Date), "{hits:?}");
    assert!(hits[0].reasons.contains(&Reason::Speaker), "{hits:?}");
}

#[test]
fn a_message_without_a_date_has_that_of_the_message_before_it() {
    let talk = [
        ("s", "user", "2023-05-03", "Hello there."),
        ("s", "assistant", "", "Good morning."),
        ("t", "user", "2023-09-09", "Hello again."),
    ];
    let hits = index(&talk).search("what happened on 3 May 2023", 2);
    let found: Vec<usize> = hits.iter().map(|hit| hit.message).collect();
    assert_eq!(found, [0, 1]);
    assert!(hits[1].reasons.contains(&Reason::Date), "{hits:?}");
}

#[test]
fn chinese_is_found_by_pairs_of_characters() {
    let notes = [
        ("s", "user", "", "数据库在五四三三端口上。"),
        ("s", "assistant", "", "好的。"),
        ("s", "user", "", "周末去爬山。"),
    ];
    let hits = index(&notes).search("哪个端口是数据库的？", 1);
    assert_eq!(hits[0].message, 0);
}

#[test]
fn one_part_of_a_long_message_is_enough() {
    let filler = "This sentence is about nothing in particular. ".repeat(60);
    let long = format!("{filler}The password rotation happens every Tuesday. {filler}");
    let messages = [
        ("s", "user", "", "A password is needed."),
        ("s", "user", "", long.as_str()),
        ("s", "user", "", "Good bye."),
    ];
    let index = index(&messages);
    assert!(index.passages() > 3);
    assert_eq!(order(&index, "When is the password rotation?")[0], 1);
}

#[test]
fn ties_are_in_the_order_of_the_conversation_and_the_count_is_met() {
    let messages = [("s", "user", "", "hello"); 5];
    let index = index(&messages);
    assert_eq!(order(&index, "nothing of this"), [0, 1, 2, 3, 4]);
    assert_eq!(index.search("nothing", 3).len(), 3);
    assert_eq!(index.search("nothing", 50).len(), 5);
    assert_eq!(Index::new().search("nothing", 3), []);
    assert_eq!(index.search("", 0), []);
}

#[test]
fn only_allowed_messages_are_returned() {
    let index = index(&TRIP);
    let order = index.rank("Lisbon hotel", |message| message > 1).order(6);
    assert_eq!(order.len(), 4);
    // The neighbors that are not allowed still count.
    assert_eq!(order[0], 2);
}

#[test]
fn vectors_reorder_what_keywords_found() {
    let index = index(&TRIP);
    let mut ranking = index.rank("Where do we stay?", |_| true);
    assert_eq!(ranking.candidates().len(), 6);
    let vectors = [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]];
    let vector = |message: usize| vectors.get(message).filter(|_| message != 1);
    ranking.rerank(&[1.0, 0.0], &Weights::SENTENCE_VECTORS, vector);
    let hits = ranking.best(6);
    assert_eq!(hits[0].message, 2);
    assert_eq!(hits[0].reasons[0], Reason::Meaning);
    assert_eq!(hits.len(), 6);
}

#[test]
fn adding_later_messages_changes_what_is_rare() {
    let mut index = index(&[("s", "user", "", "apple pear"), ("s", "user", "", "apple plum")]);
    for at in 0..20 {
        let text = format!("pear number {at}");
        index.add(&Message::new("t", "user", &text));
    }
    assert_eq!(order(&index, "pear plum")[0], 1);
    assert_eq!(index.len(), 22);
}

#[test]
fn common_words_of_a_long_question_do_not_hide_the_rare_one() {
    let notes = [
        ("me", "user", "2024-03-05", "Tried something again."),
        ("me", "user", "2024-03-06", "Cleaned the telescope."),
        ("me", "user", "2024-03-07", "Paid the rent, called the bank, went home."),
    ];
    let index = index(&notes);
    let chat = "I want to try something new today, I feel good about it. Maybe you have an idea \
        what I should start with, and how long it takes? I could look for the telescope.";
    assert_eq!(order(&index, chat)[0], 1);
    // In a short question every word matters.
    assert_eq!(order(&index, "What good thing did I try?")[0], 0);
}

#[test]
fn first_and_last_line_count_more_than_what_is_between() {
    let notes = [
        ("me", "user", "2024-03-05", "Planted tomatoes, basil and lettuce."),
        ("me", "user", "2024-03-06", "Cleaned the telescope and the balcony."),
    ];
    let index = index(&notes);
    let lines = |first: &str, between: &str, last: &str| format!("{first}\n\n{between}\n{last}\n");
    let question = lines("Is the telescope ready?", "tomatoes basil", "Or the balcony?");
    assert_eq!(order(&index, &question)[0], 1);
    let question = lines("Where is basil?", "telescope balcony", "And tomatoes?");
    assert_eq!(order(&index, &question)[0], 0);
}

#[test]
fn messages_of_people_on_the_topic_are_found_without_a_word_of_the_question() {
    let text = |at: usize| match at {
        20 | 28 => "The battery of the remote control is too weak.",
        _ => "Yes, right.",
    };
    let found = |speakers: [&'static str; 2]| {
        let talk: Vec<_> = (0..60).map(|at| ("s", speakers[at % 2], "", text(at))).collect();
        let order = order(&index(&talk), "What was wrong with the battery?");
        let position = |message: usize| order.iter().position(|at| *at == message).unwrap();
        (position(24), position(4))
    };
    let (amid, earlier) = found(["Anna", "Ben"]);
    assert!(amid < earlier, "{amid} {earlier}");
    // A chat with a program has no such topics.
    let (amid, earlier) = found(["user", "assistant"]);
    assert!(amid > earlier, "{amid} {earlier}");
}
