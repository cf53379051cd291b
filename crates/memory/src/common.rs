//! Words that are common everywhere. With few messages, the rarity of a word says little: in a
//! hundred notes, "try" may be as rare as "telescope".

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::script::is_cjk;
use crate::stem::stem;
use crate::terms::is_stop_character;

/// Common English words that are not stop words: a question may consist of them.
const ENGLISH: &str = "able absolutely actually add ago agree allow almost already although always amazing answer \
    anybody anyone anything anyway around ask asked away awesome back bad beautiful become began \
    begin believe best better big bit bring brought call came case certain certainly change \
    choose clear come common consider course create current currently day decide definitely \
    different difficult done early easy else end enjoy enough especially even evening ever \
    everybody everyone everything exactly example expect fact feel felt few finally find fine \
    first follow forget forgot full gave general give given go gone good great guess guy haha \
    hand happen hard hear held hello help high hold hope hour however idea important include \
    instead interesting issue keep kept kind large last late later lead least leave left less \
    let life listen little live long look lot love low made main major make man many maybe mean \
    meet met minute moment month morning much name need never new next nice night nobody nothing \
    number offer often old once part particular people perfect perhaps person place please point \
    possible pretty probably problem provide put question quite rather real reason recent \
    recently remember remembered right said saw say see seem seen set several share short show \
    side similar small somebody someone something sometimes soon sorry sort sound special \
    specific spend spent start stay still stop stuff suppose sure take taken talk thank thanks \
    thing think though thought time today together told tomorrow tonight took tried true try \
    turn twice type understand understood use usually wait want wanted way week well went whole \
    wish woman wonder wonderful world worry worse worst wow wrong year yes yesterday yet young";

/// Common Chinese words. Pairs with a stop character are common as well.
const CHINESE: &str = "我们 你们 他们 她们 大家 自己 什么 怎么 怎样 为什 这个 那个 这些 那些 这样 \
    那样 这么 那么 一个 一些 一下 一起 一样 一直 一定 一点 有点 有些 没有 不是 \
    不会 不能 不要 不过 不同 不用 但是 可是 因为 所以 如果 虽然 而且 然后 还是 \
    还有 或者 只是 就是 也是 都是 可以 可能 能够 应该 需要 觉得 感觉 知道 认为 \
    希望 想要 喜欢 看到 听到 听起 起来 看起 告诉 问题 时候 现在 今天 明天 昨天 \
    以后 之后 以前 之前 后来 最近 每天 每次 有时 时间 事情 东西 地方 方法 办法 \
    非常 真的 真是 特别 比较 更加 最好 很多 许多 多少 几个 很好 不错 好的 是的 \
    当然 其实 确实 也许 或许 其他 别的 已经 正在 开始 继续 帮助 试试 尝试 建议 \
    想法 有趣 重要 有没 是不";

/// Whether a term is a common word. Single characters are not: they count less in any case.
pub(crate) fn is_common(term: &str) -> bool {
    static COMMON: LazyLock<FxHashSet<String>> = LazyLock::new(|| {
        let english = ENGLISH.split_whitespace().map(|word| stem(word).into_owned());
        english.chain(CHINESE.split_whitespace().map(str::to_owned)).collect()
    });
    let is_pair = term.starts_with(is_cjk) && term.chars().nth(1).is_some();
    COMMON.contains(term) || is_pair && term.chars().any(is_stop_character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_are_known_in_every_form() {
        for word in ["try", "trying", "things", "better", "觉得", "我家", "看到"] {
            assert!(is_common(&stem(word)), "{word}");
        }
        for word in ["telescope", "invoices", "望远", "镜", "看"] {
            assert!(!is_common(&stem(word)), "{word}");
        }
    }
}
