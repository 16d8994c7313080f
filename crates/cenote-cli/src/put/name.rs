//! What a frame is called, and where it says that it comes from.

use std::path::PathBuf;

use cenote_load::suggested_name;

use crate::failure::Failure;

/// Longest note of where a frame comes from.
const SOURCE_BYTES_MAX: usize = 4096;
/// The name the user gave, or that of the one path.
///
/// # Errors
/// There are several paths, or the one has no name.
pub(crate) fn of_frame(given: Option<&str>, paths: &[PathBuf]) -> Result<String, Failure> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let [path] = paths else {
        return Err(Failure::usage("several paths have no one name").hint("--name NAME gives one"));
    };
    suggested_name(paths).ok_or_else(|| {
        let path = path.display().to_string();
        let what = match path.as_str() {
            "-" => "standard input has no name".to_owned(),
            path if path.contains(['*', '?', '[']) => "a pattern has no name".to_owned(),
            path => format!("{path} has no name that a frame could have"),
        };
        Failure::usage(what).hint("--name NAME gives one")
    })
}

/// The paths, absolute, as the frame's source.
pub(crate) fn of_source(paths: &[PathBuf]) -> String {
    let absolute = |path: &PathBuf| {
        if path.as_os_str() == "-" {
            return "standard input".to_owned();
        }
        std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
    };
    let mut text = paths.iter().map(absolute).collect::<Vec<_>>().join(", ");
    if text.len() > SOURCE_BYTES_MAX {
        let whole = |end: &usize| text.is_char_boundary(*end);
        text.truncate((0..=SOURCE_BYTES_MAX).rev().find(whole).unwrap_or(0));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_paths_need_a_name() {
        assert!(of_frame(None, &["a".into(), "b".into()]).is_err());
        assert!(of_frame(None, &["-".into()]).is_err());
        assert!(of_frame(None, &["ticks/*.csv".into()]).is_err());
        assert_eq!(of_frame(Some("c"), &["a".into(), "b".into()]).unwrap(), "c");
    }

    #[test]
    fn the_source_is_bounded() {
        let paths = vec![PathBuf::from(format!("/{}", "é".repeat(100))); 100];
        assert!(of_source(&paths).len() <= SOURCE_BYTES_MAX + "…".len());
    }
}
