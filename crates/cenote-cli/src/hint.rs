//! What to do next, for each way in which a pool refuses.

use cenote::{Error, Refusal, Unavailable};
use cenote_pool::pool::OpenError;
use cenote_pool::rundir::RunDirError;

/// What the user can do about it, where it is not in the message already.
pub(crate) fn of(error: &Error) -> Option<String> {
    match error {
        Error::Refused(refusal) => refused(refusal),
        Error::Unavailable { path, why } => unavailable(why, path),
        Error::Open(error) => open(error),
        Error::Rows { .. } => Some(
            "rows count from 0; A..B is the rows from A up to and without B, and either may be \
             left out"
                .to_owned(),
        ),
        Error::Damaged { .. } => {
            Some("put it again from its source (`cenote ls` says which), with --replace".to_owned())
        }
        Error::Append { .. } => {
            Some("what is appended has the frame's columns; --schema says types of CSV".to_owned())
        }
        Error::Schema { .. } => Some("all parts of a frame have the same columns".to_owned()),
        _ => None,
    }
}

fn refused(refusal: &Refusal) -> Option<String> {
    let text = match refusal {
        Refusal::NotFound { nearest, .. } if nearest.is_empty() => {
            "`cenote ls` lists the frames".to_owned()
        }
        Refusal::Exists { .. } => {
            "--replace makes a new version of it, --append adds to it; --name puts it under another name".to_owned()
        }
        Refusal::Name { .. } => "--name gives the frame a name of its own".to_owned(),
        Refusal::Exhausted { .. } => {
            "`cenote ls` and `cenote leases` say what takes the room, `cenote rm` drops a frame; \
             --wait SECONDS waits for room; `cenote serve --capacity` sets the pool's size"
                .to_owned()
        }
        Refusal::NoVersion { .. } => {
            "`cenote log` lists the versions; `cenote keep` and `cenote tag` keep them".to_owned()
        }
        Refusal::Conflict { .. } => "`cenote log` says what came between".to_owned(),
        Refusal::Lost { .. } => {
            "put it again from its source (`cenote log` says which), with --replace".to_owned()
        }
        Refusal::Needed { .. } => "`cenote tag NAME TAG --remove` takes a tag away".to_owned(),
        Refusal::NoSession { .. } => "`cenote leases` lists the clients".to_owned(),
        _ => return None,
    };
    Some(text)
}

fn unavailable(why: &Unavailable, path: &std::path::Path) -> Option<String> {
    let path = path.display();
    let text = match why {
        Unavailable::NotRunning => format!(
            "run `cenote serve --address {path}` in another terminal; the default pool's daemon is \
             started by `cenote put`; `cenote doctor` looks for what is wrong"
        ),
        Unavailable::Silent(_) => {
            "the daemon may be busy: try again, or wait longer with --timeout SECONDS".to_owned()
        }
        Unavailable::Stopped { pid } => {
            format!("or end it with `kill -KILL {pid}` and serve again: its frames stay")
        }
        Unavailable::Start(_) => {
            format!("`cenote serve --address {path}` in a terminal shows what is wrong")
        }
        _ => return None,
    };
    Some(text)
}

fn open(error: &OpenError) -> Option<String> {
    let text = match error {
        OpenError::Owned { pid, stopped: true, .. } => {
            format!("`kill -KILL {pid}` ends it, and its frames stay for the next `cenote serve`")
        }
        OpenError::Owned { pid, .. } => format!(
            "use it as it is, end it with `cenote stop` or `kill {pid}`, or serve another pool \
             with --address"
        ),
        OpenError::Full { .. } => {
            "remove what is not needed there (`df -i` and `df -h` say what is full); frames that \
             are in the pool stay"
                .to_owned()
        }
        OpenError::NoRoom { .. } => {
            "give the pool a larger --capacity, or make room in its file system".to_owned()
        }
        OpenError::Dir(RunDirError::Mode { .. }) => {
            "a pool's data is its owner's alone; or name another directory with --address"
                .to_owned()
        }
        OpenError::Dir(_) => "name a directory of your own with --address".to_owned(),
        _ => return None,
    };
    Some(text)
}
