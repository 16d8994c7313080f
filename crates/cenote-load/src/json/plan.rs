//! The first pass: every file is read whole, by one thread, and looked at by several.

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::{Field, Schema, SchemaRef};

use super::cuts::{Cut, Cutter, lines};
use super::infer::{Keys, look};
use crate::error::{LoadError, clip};
use crate::file::InputFile;
use crate::meter::Meter;
use crate::options::Options;

/// All that the second pass needs.
#[derive(Debug)]
pub(crate) struct JsonPlan {
    pub(crate) schema: SchemaRef,
    /// The cuts of each file.
    pub(super) files: Vec<Vec<Cut>>,
}

/// A cut on its way to whoever looks at it.
type Work = (usize, Cut, Vec<u8>);
type Looked = Result<(usize, Cut, Keys), (usize, u64, LoadError)>;

impl JsonPlan {
    pub(crate) fn new(
        files: &[InputFile],
        options: &Options,
        meter: &Meter,
    ) -> Result<Self, LoadError> {
        let looked = look_at_all(files, options.threads(), meter)?;
        let mut cuts = vec![Vec::new(); files.len()];
        let mut keys = Keys::default();
        for (file, cut, seen) in looked {
            keys.merge(seen).map_err(|conflict| LoadError::JsonLine {
                file: files[file].name.clone(),
                line: cut.line,
                why: format!("from here on, {conflict}"),
                text: String::new(),
            })?;
            cuts[file].push(cut);
        }
        if keys.is_empty() && options.schema.is_none() {
            let file = files[0].name.clone();
            let empty = cuts.iter().flatten().all(|cut| cut.rows == 0);
            return Err(if empty { LoadError::Empty { file } } else { LoadError::NoKeys { file } });
        }
        let mut fields: Vec<Field> = keys.fields().iter().map(|f| f.as_ref().clone()).collect();
        for declared in options.schema.iter().flat_map(|schema| schema.fields()) {
            match fields.iter_mut().find(|field| field.name() == declared.name()) {
                Some(field) => field.set_data_type(declared.data_type().clone()),
                None => {
                    let known = fields.iter().map(|field| field.name().clone()).collect();
                    return Err(LoadError::UnknownColumn {
                        column: declared.name().clone(),
                        known,
                    });
                }
            }
        }
        Ok(Self { schema: Arc::new(Schema::new(fields)), files: cuts })
    }
}

/// What all cuts hold, in order. Of several errors that of the earliest place is returned.
fn look_at_all(
    files: &[InputFile],
    threads: usize,
    meter: &Meter,
) -> Result<Vec<(usize, Cut, Keys)>, LoadError> {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Work>(threads);
        let receiver = Arc::new(Mutex::new(Some(receiver)));
        let spawn = |_| {
            let receiver = receiver.clone();
            let work = move || look_at_each(files, &receiver);
            std::thread::Builder::new().name("cenote-json".into()).spawn_scoped(scope, work)
        };
        let workers = (0..threads).map(spawn).collect::<Result<Vec<_>, _>>();
        let workers = workers.map_err(|source| LoadError::Thread { source })?;
        let mut outcome = Ok(true);
        for (index, file) in files.iter().enumerate() {
            outcome = file.guarded(|| read_cuts(index, file, &sender, meter));
            // nobody listens any more: a worker has met an error
            if outcome.as_ref().map_or(true, |going_on| !going_on) {
                break;
            }
        }
        drop(sender);
        let mut looked: Vec<Looked> = Vec::new();
        for worker in workers {
            looked.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        looked.sort_by_key(|one| match one {
            Ok((file, cut, _)) => (*file, cut.line),
            Err((file, line, _)) => (*file, *line),
        });
        let looked = looked.into_iter().map(|one| one.map_err(|(.., error)| error));
        let looked = looked.collect::<Result<Vec<_>, _>>()?;
        outcome.map(|_| looked)
    })
}

/// Hands out the cuts of a file; false: nobody takes them.
fn read_cuts(
    index: usize,
    file: &InputFile,
    sender: &std::sync::mpsc::SyncSender<Work>,
    meter: &Meter,
) -> Result<bool, LoadError> {
    file.with_metered_bytes(meter, |reader| {
        let mut cutter = Cutter::new(file, reader);
        while let Some((cut, text)) = cutter.next()? {
            if meter.cancelled() {
                return Err(LoadError::Cancelled);
            }
            if sender.send((index, cut, text)).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

fn look_at_each(files: &[InputFile], cuts: &Mutex<Option<Receiver<Work>>>) -> Vec<Looked> {
    let mut done = Vec::new();
    loop {
        let mut waiting = cuts.lock().unwrap_or_else(PoisonError::into_inner);
        let next = waiting.as_ref().and_then(|receiver| receiver.recv().ok());
        let Some((file, cut, text)) = next else { return done };
        drop(waiting);
        let looked = look_at(&files[file], cut, &text);
        let failed = looked.is_err();
        done.push(match looked {
            Ok((cut, keys)) => Ok((file, cut, keys)),
            Err(error) => Err((file, cut.line, error)),
        });
        if failed {
            // those that were handed out before are looked at; no more come
            waiting = cuts.lock().unwrap_or_else(PoisonError::into_inner);
            *waiting = None;
        }
    }
}

fn look_at(file: &InputFile, mut cut: Cut, text: &[u8]) -> Result<(Cut, Keys), LoadError> {
    let mut keys = Keys::default();
    for (number, line) in lines(text) {
        cut.rows += 1;
        let fault = |error: serde_json::Error| LoadError::JsonLine {
            file: file.name.clone(),
            line: cut.line + number,
            why: why(&error, line),
            text: clip(&String::from_utf8_lossy(line)),
        };
        look(line, &mut keys).map_err(fault)?;
    }
    Ok((cut, keys))
}

fn why(error: &serde_json::Error, line: &[u8]) -> String {
    // its line is that of a text of one line
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text);
    let way_out = if line.first() == Some(&b'[') {
        "; a list of objects becomes lines by: jq -c '.[]'"
    } else if error.is_eof() {
        "; each line is one whole object, as `jq -c .` writes it"
    } else {
        ""
    };
    format!("{text}{way_out}")
}
