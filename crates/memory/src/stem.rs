//! Porter's stemmer for English (1980): "databases" and "database" become the same term.
//!
//! It is small, and on the question sets of `docs/recall.md` it finds as much as the larger
//! Snowball stemmer or more.

use std::borrow::Cow;

/// Suffixes that are replaced if a vowel and a consonant come before them, in the order in which
/// they are tried.
const STEP_2: [(&str, &str); 20] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
];
const STEP_3: [(&str, &str); 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];
/// Suffixes that are removed from longer words.
const STEP_4: [&str; 19] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic", "ou",
];

/// Returns the stem of a lower-case word. Words of one or two letters, and words with other letters
/// than a to z, stay as they are.
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    if word.len() <= 2 || !word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let mut word = word.to_owned();
    plural(&mut word);
    past_and_progressive(&mut word);
    if word.strip_suffix('y').is_some_and(has_vowel) {
        word.pop();
        word.push('i');
    }
    replace(&mut word, &STEP_2);
    replace(&mut word, &STEP_3);
    remove(&mut word);
    if let Some(rest) = word.strip_suffix('e') {
        let measure = measure(rest);
        if measure > 1 || (measure == 1 && !ends_in_short_syllable(rest)) {
            word.pop();
        }
    }
    if word.ends_with("ll") && measure(&word) > 1 {
        word.pop();
    }
    Cow::Owned(word)
}

fn plural(word: &mut String) {
    if word.ends_with("sses") || word.ends_with("ies") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
}

fn past_and_progressive(word: &mut String) {
    if let Some(rest) = word.strip_suffix("eed") {
        if measure(rest) > 0 {
            word.pop();
        }
        return;
    }
    let rest = ["ed", "ing"].iter().find_map(|suffix| word.strip_suffix(suffix));
    let Some(rest) = rest.filter(|rest| has_vowel(rest)) else { return };
    word.truncate(rest.len());
    if ["at", "bl", "iz"].iter().any(|ending| word.ends_with(ending)) {
        word.push('e');
    } else if ends_in_double_consonant(word) && !word.ends_with(['l', 's', 'z']) {
        word.pop();
    } else if measure(word) == 1 && ends_in_short_syllable(word) {
        word.push('e');
    }
}

fn replace(word: &mut String, table: &[(&str, &str)]) {
    let found = table
        .iter()
        .find_map(|(suffix, replacement)| Some((word.strip_suffix(suffix)?, replacement)));
    if let Some((rest, replacement)) = found
        && measure(rest) > 0
    {
        word.truncate(rest.len());
        word.push_str(replacement);
    }
}

fn remove(word: &mut String) {
    let found = STEP_4.iter().find_map(|suffix| Some((word.strip_suffix(suffix)?, *suffix)));
    if let Some((rest, suffix)) = found
        && measure(rest) > 1
        && (suffix != "ion" || rest.ends_with(['s', 't']))
    {
        word.truncate(rest.len());
    }
}

/// Returns for each letter whether it is a consonant; `y` is one at the start and after a vowel.
fn consonants(word: &str) -> impl Iterator<Item = bool> {
    word.bytes().scan(false, |after_consonant, letter| {
        let is_consonant = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => !*after_consonant,
            _ => true,
        };
        *after_consonant = is_consonant;
        Some(is_consonant)
    })
}

/// Returns how often a vowel is followed by a consonant.
fn measure(word: &str) -> usize {
    consonants(word).zip(consonants(word).skip(1)).filter(|&(one, next)| !one && next).count()
}

fn has_vowel(word: &str) -> bool {
    consonants(word).any(|is_consonant| !is_consonant)
}

fn ends_in_double_consonant(word: &str) -> bool {
    let mut letters = word.bytes().rev();
    letters.next().is_some_and(|last| letters.next() == Some(last))
        && consonants(word).last() == Some(true)
}

/// Whether a word ends in consonant, vowel, consonant, as "hop" does; w, x and y do not count as
/// the last.
fn ends_in_short_syllable(word: &str) -> bool {
    let ending = consonants(word).skip(word.len().saturating_sub(3));
    word.len() > 2 && ending.eq([true, false, true]) && !word.ends_with(['w', 'x', 'y'])
}
