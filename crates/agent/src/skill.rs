//! Skills: folders with a `SKILL.md`, whose head says name and description. The model is told only
//! these; it reads the rest when it needs it, from a copy in its workspace.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use waterline_sandbox::small_file::Folder;
use waterline_sandbox::workspace::Workspace;

/// The file of a skill.
const FILE: &str = "SKILL.md";

/// How long a name may be.
const NAME: usize = 60;

/// How much of a description the model is told.
const DESCRIPTION: usize = 500;

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// The name of its folder.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// Where it is.
    pub folder: PathBuf,
}

#[derive(Deserialize)]
struct Head {
    name: Option<String>,
    description: Option<String>,
}

/// The skills in folders, those of a later folder before those of the same name in an earlier one;
/// and what could not be read.
#[must_use]
pub fn find(folders: &[Folder]) -> (Vec<Skill>, Vec<String>) {
    let mut skills: Vec<Skill> = Vec::new();
    let mut notices = Vec::new();
    for folder in folders {
        for path in folder.entries().into_iter().filter(|path| path.join(FILE).is_file()) {
            // What a link leads to is not part of the project: it may be anything that the user can
            // read.
            if folder.is_foreign() && (is_link(&path) || is_link(&path.join(FILE))) {
                notices.push(format!(
                    "the skill {} of the project is left out: it is a link",
                    path.display()
                ));
                continue;
            }
            match read(folder, &path) {
                Ok(skill) => {
                    skills.retain(|known| known.id != skill.id);
                    skills.push(skill);
                }
                Err(why) => {
                    notices.push(format!("the skill {} cannot be used: {why}", path.display()))
                }
            }
        }
    }
    skills.sort_by(|left, right| left.id.cmp(&right.id));
    (skills, notices)
}

fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

fn read(around: &Folder, folder: &Path) -> Result<Skill, String> {
    let id = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = around.read(&folder.join(FILE)).map_err(|error| error.to_string())?;
    let head = head(&text).ok_or("SKILL.md does not begin with a head between two lines of ---")?;
    let head: Head = serde_yaml_ng::from_str(head).map_err(|error| error.to_string())?;
    if id.chars().any(|c| c.is_control() || c == '\n') || id.chars().count() > NAME {
        return Err("the name of its folder is too long, or no name".to_owned());
    }
    let flat = |text: &str, most: usize| -> String {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .filter(|c| !c.is_control())
            .take(most)
            .collect()
    };
    let name = flat(&head.name.unwrap_or_else(|| id.clone()), NAME);
    Ok(Skill {
        name,
        id,
        description: flat(&head.description.unwrap_or_default(), DESCRIPTION),
        folder: folder.to_owned(),
    })
}

/// What stands between the first two lines of `---`.
fn head(text: &str) -> Option<&str> {
    let rest = text
        .trim_start_matches('\u{feff}')
        .strip_prefix("---")?
        .trim_start_matches('\r')
        .strip_prefix('\n')?;
    rest.split_once("\n---").map(|(head, _)| head)
}

/// Copies skills into a workspace, so that its tools reach them. One that is there already stays.
pub(crate) fn unpack(skills: &[Skill], workspace: &Workspace) {
    for skill in skills {
        let to = format!("skills/{}", skill.id);
        if workspace.entries(&to).is_err() {
            workspace.copy_into(&to, &skill.folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_are_found_and_the_nearer_one_wins() {
        let place = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = place.path().join(path);
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
        let folders =
            ["user", "project", "nowhere"].map(|name| Folder::own(place.path().join(name)));
        let (skills, notices) = find(&folders[..1]);
        assert_eq!(skills[0].description, "Reads PDF files, page by page");
        assert!(notices[0].contains("broken"), "{notices:?}");
        let (skills, _) = find(&folders);
        assert_eq!((skills.len(), skills[0].description.as_str()), (1, "ours"));
        unpack(&skills, &Workspace::open(&place.path().join("w"), "s", &[]).unwrap());
        assert!(place.path().join("w/skills/pdf/scripts/read.sh").is_file());
    }

    /// A folder from somebody else must not have the user's own files copied to where the model
    /// reads them.
    #[test]
    fn a_skill_of_a_project_that_is_a_link_is_left_out() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let head = "---\nname: tide\ndescription: tides\n---\n";
        for folder in ["home/tide", "project/skills/own", "project/skills/half"] {
            std::fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        std::fs::write(place.path().join("home/tide/SKILL.md"), head).unwrap();
        std::fs::write(place.path().join("project/skills/own/SKILL.md"), head).unwrap();
        let skills = place.path().join("project/skills");
        symlink(place.path().join("home/tide"), skills.join("whole")).unwrap();
        symlink(place.path().join("home/tide/SKILL.md"), skills.join("half/SKILL.md")).unwrap();
        let (found, notices) = find(&[Folder::of_project(place.path().join("project"), "skills")]);
        assert_eq!(found.iter().map(|skill| skill.id.as_str()).collect::<Vec<_>>(), ["own"]);
        assert!(
            notices.len() == 2 && notices.iter().all(|notice| notice.contains("it is a link")),
            "{notices:?}"
        );
        let (found, _) = find(&[Folder::own(&skills)]);
        assert_eq!(found.len(), 3, "the user may keep skills elsewhere");
    }
}
