//! The languages whose code is colored: their keywords, and how they mark comments and strings.

/// How a language marks its parts.
#[derive(Debug, PartialEq, Eq)]
pub struct Language {
    names: &'static [&'static str],
    pub(super) keywords: &'static str,
    /// The start of a comment that ends with the line.
    pub(super) comment: &'static str,
    /// The start and the end of other comments.
    pub(super) block: Option<(&'static str, &'static str)>,
    /// The delimiters of strings, longer ones first.
    pub(super) strings: &'static [&'static str],
    /// Strings with these delimiters may have several lines.
    pub(super) long_strings: &'static [&'static str],
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Keywords between other text.
    Code,
    /// Keywords between other text; their case does not matter.
    CodeInAnyCase,
    /// Lines that start with a key, which ends with this character.
    Keys(char),
    /// Tags in angle brackets.
    Markup,
    /// Lines that start with a sign.
    Diff,
}

const C_BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));

const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        keywords: "as async await break const continue crate dyn else enum extern false fn for if \
                   impl in let loop match mod move mut pub ref return self Self static struct \
                   super trait true type unsafe use where while",
        comment: "//",
        block: C_BLOCK,
        strings: &["\""],
        long_strings: &["\""],
        kind: Kind::Code,
    },
    Language {
        names: &["python", "py", "python3"],
        keywords: "and as assert async await break class continue def del elif else except False \
                   finally for from global if import in is lambda match None nonlocal not or pass \
                   raise return True try while with yield",
        comment: "#",
        block: None,
        strings: &["\"\"\"", "'''", "\"", "'"],
        long_strings: &["\"\"\"", "'''"],
        kind: Kind::Code,
    },
    Language {
        names: &["javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs"],
        keywords: "abstract any as async await boolean break case catch class const continue \
                   declare default delete do else enum export extends false finally for from \
                   function get if implements import in instanceof interface keyof let namespace \
                   new null number of private protected public readonly return set static string \
                   super switch this throw true try type typeof undefined var void while yield",
        comment: "//",
        block: C_BLOCK,
        strings: &["\"", "'", "`"],
        long_strings: &["`"],
        kind: Kind::Code,
    },
    Language {
        names: &["go", "golang"],
        keywords: "any bool break byte case chan const continue default defer else error \
                   fallthrough false for func go goto if import int interface map nil package \
                   range return rune select string struct switch true type var",
        comment: "//",
        block: C_BLOCK,
        strings: &["\"", "'", "`"],
        long_strings: &["`"],
        kind: Kind::Code,
    },
    Language {
        names: &["java", "kotlin", "kt", "scala", "csharp", "cs", "swift"],
        keywords: "abstract boolean break byte case catch char class const continue data default \
                   do double else enum extends false final finally float for fun if implements \
                   import in instanceof int interface internal let long namespace new null object \
                   override package private protected public record return sealed short static \
                   string struct super switch this throw throws true try using val var void when \
                   where while yield",
        comment: "//",
        block: C_BLOCK,
        strings: &["\"\"\"", "\"", "'"],
        long_strings: &["\"\"\""],
        kind: Kind::Code,
    },
    Language {
        names: &["c", "cpp", "c++", "cc", "h", "hpp"],
        keywords: "auto bool break case catch char class const constexpr continue default delete \
                   do double else enum extern false float for goto if inline int long namespace \
                   new noexcept nullptr operator override private protected public return short \
                   signed sizeof static struct switch template this throw true try typedef \
                   typename union unsigned using virtual void volatile while",
        comment: "//",
        block: C_BLOCK,
        strings: &["\"", "'"],
        long_strings: &[],
        kind: Kind::Code,
    },
    Language {
        names: &["sh", "bash", "shell", "zsh", "console", "shellscript"],
        keywords: "case cd do done echo elif else esac exit export fi for function if in local \
                   return set shift source then trap unset until while",
        comment: "#",
        block: None,
        strings: &["\"", "'"],
        long_strings: &["\"", "'"],
        kind: Kind::Code,
    },
    Language {
        names: &["sql", "postgres", "postgresql", "sqlite", "mysql"],
        keywords: "add all alter and as asc begin between by case check column commit constraint \
                   create cross default delete desc distinct drop else end exists false foreign \
                   from full group having if in index inner insert into is join key left like \
                   limit not null offset on or order outer primary references returning right \
                   rollback select set table then true union unique update using values view when \
                   where with",
        comment: "--",
        block: C_BLOCK,
        strings: &["'"],
        long_strings: &["'"],
        kind: Kind::CodeInAnyCase,
    },
    Language {
        names: &["json", "jsonc", "json5", "jsonl"],
        keywords: "true false null",
        comment: "//",
        block: C_BLOCK,
        strings: &["\""],
        long_strings: &[],
        kind: Kind::Code,
    },
    Language {
        names: &["toml", "ini", "cfg"],
        keywords: "true false",
        comment: "#",
        block: None,
        strings: &["\"\"\"", "\"", "'"],
        long_strings: &["\"\"\""],
        kind: Kind::Keys('='),
    },
    Language {
        names: &["yaml", "yml"],
        keywords: "true false null yes no",
        comment: "#",
        block: None,
        strings: &["\"", "'"],
        long_strings: &[],
        kind: Kind::Keys(':'),
    },
    Language {
        names: &["html", "xml", "svg", "vue"],
        keywords: "",
        comment: "",
        block: Some(("<!--", "-->")),
        strings: &["\""],
        long_strings: &[],
        kind: Kind::Markup,
    },
    Language {
        names: &["diff", "patch"],
        keywords: "",
        comment: "",
        block: None,
        strings: &[],
        long_strings: &[],
        kind: Kind::Diff,
    },
];

/// Returns the language that the first word after an opening fence names.
pub fn language(info: &str) -> Option<&'static Language> {
    let name = info.split([' ', ',', '{', ':']).next().unwrap_or_default().to_ascii_lowercase();
    LANGUAGES.iter().find(|language| language.names.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_the_first_word_after_the_fence() {
        assert_eq!(language("rust,ignore"), language("rs"));
        assert_eq!(language("Python title=\"a\""), language("py"));
        assert!(language("").is_none() && language("brainfuck").is_none());
    }
}
