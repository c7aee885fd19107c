//! The story this product exists for: an agent edits a file in a sandbox, the turn commits, the
//! computer is gone, and the edit can still be read. It is the newest session of the world.

use super::git::Origin;
use super::session::Script;
use super::steps::{Step, look, shell};
use super::transcript::Home;
use super::turn::turn;
use super::{DAY, ENGINEER, HOUR};

/// The turn whose checkpoint holds the edit.
pub(super) const TURN: usize = 2;
const LINE: &str = "Edited by the engineer\n";

pub(super) fn script() -> Script {
    Script {
        key: "story",
        runner: ENGINEER,
        user: Some("mara@tidewater.example"),
        name: None,
        began: DAY + 17 * HOUR,
        fixture: true,
        home: Some(Home::Claude),
        origin: Some(Origin {
            url: "https://git.example/tidewater/hello-world",
            subject: "Say hello",
            files: vec![("README.md", 0o644, b"Hello World!\n".to_vec())],
            committed: DAY - 40 * 24 * HOUR,
        }),
        plain: false,
        turns: vec![
            turn(
                "Look around in the repository",
                "It holds one file, README.md, and it says hello to the world.",
                vec![
                    look("git log --format=%s && ls", "Say hello\nREADME.md"),
                    Step::Read("README.md"),
                ],
            ),
            turn(
                "Sign the README",
                "README.md has a second line now. It is not committed.",
                vec![
                    Step::Say("The computer is still warm, so I add the line with the shell."),
                    shell(
                        "echo 'Edited by the engineer' >> README.md",
                        "",
                        |computer| {
                            let path = computer.at("README.md");
                            computer.files.append(&path, LINE, 0o644);
                            Ok(())
                        },
                    ),
                    look(
                        "git diff --stat",
                        " README.md | 1 +\n 1 file changed, 1 insertion(+)",
                    ),
                ],
            ),
        ],
    }
}
