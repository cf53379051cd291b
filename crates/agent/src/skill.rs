//! Skills: directories with a `SKILL.md` whose front matter has a name and a description. Only
//! these are in the system prompt; the model reads the rest from a copy in its workspace.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use waterline::phrase;
use waterline::phrase::Phrase;
use waterline_sandbox::small_file::Directory;
use waterline_sandbox::workspace::Workspace;

const FILE: &str = "SKILL.md";

/// Maximum length of a name.
const NAME_CHARS: usize = 60;

/// Maximum length of a description.
const DESCRIPTION_CHARS: usize = 500;

/// Instructions for one kind of work, which the model reads when it needs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// The name of the directory.
    pub id: String,
    /// The name from the front matter.
    pub name: String,
    /// What the skill does and when to use it.
    pub description: String,
    /// The directory with `SKILL.md` and the files it refers to.
    pub directory: PathBuf,
}

/// A skill that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkillProblem {
    /// It came with a project and is a link.
    Link(PathBuf),
    /// Its `SKILL.md` cannot be read as a skill.
    Invalid {
        /// The directory of the skill.
        path: PathBuf,
        /// What is wrong with it.
        why: Phrase,
    },
}

impl fmt::Display for SkillProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(path) => {
                write!(f, "skill {} of the project is ignored: it is a link", path.display())
            }
            Self::Invalid { path, why } => write!(f, "invalid skill {}: {why}", path.display()),
        }
    }
}

#[derive(Deserialize)]
struct FrontMatter {
    name: Option<String>,
    description: Option<String>,
}

/// Returns the skills in the given directories, and notices about those that are invalid. A later
/// skill replaces an earlier one with the same id.
#[must_use]
pub fn find(directories: &[Directory]) -> (Vec<Skill>, Vec<SkillProblem>) {
    let mut skills: Vec<Skill> = Vec::new();
    let mut notices = Vec::new();
    for directory in directories {
        for path in directory.entries().into_iter().filter(|path| path.join(FILE).is_file()) {
            // The target of a link is not part of the project: it may be any file the user can
            // read.
            if directory.is_foreign() && (is_link(&path) || is_link(&path.join(FILE))) {
                notices.push(SkillProblem::Link(path));
                continue;
            }
            match read(directory, &path) {
                Ok(skill) => {
                    skills.retain(|known| known.id != skill.id);
                    skills.push(skill);
                }
                Err(why) => notices.push(SkillProblem::Invalid { path, why }),
            }
        }
    }
    skills.sort_by(|left, right| left.id.cmp(&right.id));
    (skills, notices)
}

fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

fn read(parent: &Directory, path: &Path) -> Result<Skill, Phrase> {
    let id = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = parent.read(&path.join(FILE)).map_err(|error| error.to_string())?;
    let yaml = front_matter(&text).ok_or_else(|| {
        phrase!(
            "skill-no-front-matter",
            "SKILL.md does not start with front matter between two --- lines"
        )
    })?;
    let head: FrontMatter = serde_yaml_ng::from_str(yaml).map_err(|error| error.to_string())?;
    if id.chars().any(|c| c.is_control() || c == '\n') || id.chars().count() > NAME_CHARS {
        return Err(phrase!(
            "skill-name",
            "the name of its directory is invalid or longer than {most} characters",
            most = NAME_CHARS
        ));
    }
    let one_line = |text: &str, most: usize| -> String {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .filter(|c| !c.is_control())
            .take(most)
            .collect()
    };
    Ok(Skill {
        name: one_line(&head.name.unwrap_or_else(|| id.clone()), NAME_CHARS),
        id,
        description: one_line(&head.description.unwrap_or_default(), DESCRIPTION_CHARS),
        directory: path.to_owned(),
    })
}

/// Returns the text between the first two `---` lines.
fn front_matter(text: &str) -> Option<&str> {
    let rest = text
        .trim_start_matches('\u{feff}')
        .strip_prefix("---")?
        .trim_start_matches('\r')
        .strip_prefix('\n')?;
    rest.split_once("\n---").map(|(head, _)| head)
}

/// Copies skills into a workspace, so that tools can read them. Existing copies are kept.
pub(crate) fn unpack(skills: &[Skill], workspace: &Workspace) {
    for skill in skills {
        let to = workspace.path().join("skills").join(&skill.id).display().to_string();
        if workspace.entries(&to).is_err() {
            workspace.copy_into(&to, &skill.directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_skill_replaces_an_earlier_one() {
        let temp = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = temp.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "user/pdf/SKILL.md",
            "---\nname: pdf\ndescription: |\n  Reads PDF files,\n  page by page\n---\n# PDF",
        );
        write("user/broken/SKILL.md", "no head");
        write("user/no-skill/notes.md", "");
        write("project/pdf/SKILL.md", "---\nname: pdf\ndescription: ours\n---\n");
        write("project/pdf/scripts/read.sh", "echo");
        let directories =
            ["user", "project", "nowhere"].map(|name| Directory::own(temp.path().join(name)));
        let (skills, notices) = find(&directories[..1]);
        assert_eq!(skills[0].description, "Reads PDF files, page by page");
        assert!(notices[0].to_string().contains("broken"), "{notices:?}");
        let (skills, _) = find(&directories);
        assert_eq!((skills.len(), skills[0].description.as_str()), (1, "ours"));
        unpack(&skills, &Workspace::open(&temp.path().join("w"), "s", &[]).unwrap());
        assert!(temp.path().join("w/skills/pdf/scripts/read.sh").is_file());
    }

    /// An untrusted project must not get the user's files copied to where the model reads them.
    #[test]
    fn linked_skills_of_a_project_are_ignored() {
        use std::os::unix::fs::symlink;
        let temp = tempfile::tempdir().unwrap();
        let head = "---\nname: tide\ndescription: tides\n---\n";
        for directory in ["home/tide", "project/skills/own", "project/skills/half"] {
            std::fs::create_dir_all(temp.path().join(directory)).unwrap();
        }
        std::fs::write(temp.path().join("home/tide/SKILL.md"), head).unwrap();
        std::fs::write(temp.path().join("project/skills/own/SKILL.md"), head).unwrap();
        let skills = temp.path().join("project/skills");
        symlink(temp.path().join("home/tide"), skills.join("whole")).unwrap();
        symlink(temp.path().join("home/tide/SKILL.md"), skills.join("half/SKILL.md")).unwrap();
        let (found, notices) =
            find(&[Directory::of_project(temp.path().join("project"), "skills")]);
        assert_eq!(found.iter().map(|skill| skill.id.as_str()).collect::<Vec<_>>(), ["own"]);
        assert!(
            notices.len() == 2
                && notices.iter().all(|notice| matches!(notice, SkillProblem::Link(_))),
            "{notices:?}"
        );
        let (found, _) = find(&[Directory::own(&skills)]);
        assert_eq!(found.len(), 3, "the user's own skills may be links");
    }
}
