//! Skills: folders with a `SKILL.md`, whose head says name and description. The model is told only these; it reads the rest when it
//! needs it, from a copy in its workspace.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::workspace::Workspace;

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

/// The skills in folders, those of a later folder before those of the same name in an earlier one; and what could not be read.
#[must_use]
pub fn find(folders: &[PathBuf]) -> (Vec<Skill>, Vec<String>) {
    let mut skills: Vec<Skill> = Vec::new();
    let mut notices = Vec::new();
    for folder in folders {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries.into_iter().filter(|path| path.join(FILE).is_file()) {
            match read(&path) {
                Ok(skill) => {
                    skills.retain(|known| known.id != skill.id);
                    skills.push(skill);
                }
                Err(why) => notices.push(format!("the skill {} cannot be used: {why}", path.display())),
            }
        }
    }
    skills.sort_by(|left, right| left.id.cmp(&right.id));
    (skills, notices)
}

fn read(folder: &Path) -> Result<Skill, String> {
    let id = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = std::fs::read_to_string(folder.join(FILE)).map_err(|error| error.to_string())?;
    let head = head(&text).ok_or("SKILL.md does not begin with a head between two lines of ---")?;
    let head: Head = serde_yaml_ng::from_str(head).map_err(|error| error.to_string())?;
    if id.chars().any(|c| c.is_control() || c == '\n') || id.chars().count() > NAME {
        return Err("the name of its folder is too long, or no name".to_owned());
    }
    let flat = |text: &str, most: usize| -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().filter(|c| !c.is_control()).take(most).collect()
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
    let rest = text.trim_start_matches('\u{feff}').strip_prefix("---")?.trim_start_matches('\r').strip_prefix('\n')?;
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
        write("user/pdf/SKILL.md", "---\nname: pdf\ndescription: |\n  Reads PDF files,\n  page by page\n---\n# PDF");
        write("user/broken/SKILL.md", "no head");
        write("user/no-skill/notes.md", "");
        write("project/pdf/SKILL.md", "---\nname: pdf\ndescription: ours\n---\n");
        write("project/pdf/scripts/read.sh", "echo");
        let folders = [place.path().join("user"), place.path().join("project"), place.path().join("nowhere")];
        let (skills, notices) = find(&folders[..1]);
        assert_eq!(skills[0].description, "Reads PDF files, page by page");
        assert!(notices[0].contains("broken"), "{notices:?}");
        let (skills, _) = find(&folders);
        assert_eq!((skills.len(), skills[0].description.as_str()), (1, "ours"));
        unpack(&skills, &Workspace::open(&place.path().join("w"), "s", &[]).unwrap());
        assert!(place.path().join("w/skills/pdf/scripts/read.sh").is_file());
    }
}
