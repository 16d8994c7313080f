//! Rubbish on the socket.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use cenote_pool::id::{ArenaId, EntryId, Epoch, Generation, Incarnation, Place, SessionId};
use cenote_pool::manifest::{ColumnRef, Draft};
use cenote_pool::message::{
    Commit, PROTOCOL_VERSION, Refusal, Request, Response, Restored, Resume, Which,
};
use cenote_pool::protocol::ledger::{IfExists, Sealed};
use cenote_pool::row::{Keep, Made};
use cenote_region::socket::recv_with_fds;
use cenote_torture::chance::Chance;

use crate::scene::{Scene, Setting, times};

fn connect(scene: &Scene) -> UnixStream {
    let stream = UnixStream::connect(scene.path("socket")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn frame(epoch: Epoch, request: &Request) -> Vec<u8> {
    let body = postcard::to_stdvec(&(epoch, request)).unwrap();
    let mut bytes = u32::try_from(body.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend(body);
    bytes
}

/// Says it, and returns the answer; `None`: the daemon has hung up.
fn ask(stream: &mut UnixStream, epoch: Epoch, request: &Request) -> Option<Response> {
    Some(ask_fd(stream, epoch, request)?.0)
}

fn ask_fd(
    stream: &mut UnixStream,
    epoch: Epoch,
    request: &Request,
) -> Option<(Response, Vec<OwnedFd>)> {
    stream.write_all(&frame(epoch, request)).ok()?;
    let mut length = [0; 4];
    let (read, fds) = recv_with_fds(&*stream, &mut length, 1).ok()?;
    if read == 0 {
        return None;
    }
    stream.read_exact(&mut length[read..]).ok()?;
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut body).ok()?;
    Some((postcard::from_bytes(&body).unwrap(), fds))
}

fn hello() -> Request {
    Request::Hello { protocol: PROTOCOL_VERSION, pid: 1, resume: None, arenas: Vec::new() }
}

/// A connection that has introduced itself, what keeps its session, and the daemon's epoch.
fn introduced(scene: &Scene) -> (UnixStream, Vec<OwnedFd>, Epoch) {
    let mut stream = connect(scene);
    match ask_fd(&mut stream, Epoch(0), &hello()) {
        Some((Response::Welcome { epoch, .. }, fds)) => (stream, fds, epoch),
        other => panic!("{other:?}"),
    }
}

fn number(chance: &mut Chance) -> u64 {
    match chance.below(8) {
        0 => 0,
        1 => u64::MAX,
        2 => u64::MAX - chance.below(5000),
        3 => 1 << chance.below(64),
        4 => (1u64 << chance.below(64)).wrapping_sub(1),
        5 => chance.word(),
        _ => chance.below(100_000),
    }
}

fn small(chance: &mut Chance) -> u32 {
    u32::try_from(number(chance) & u64::from(u32::MAX)).unwrap()
}

fn place(chance: &mut Chance, arena: ArenaId) -> Place {
    let (offset, length) = (number(chance), number(chance));
    let arena = if chance.one_in(3) { ArenaId(small(chance)) } else { arena };
    let incarnation = Incarnation(if chance.one_in(2) { 1 } else { small(chance) });
    let offset = if chance.one_in(2) { offset / 64 * 64 } else { offset };
    Place { arena, incarnation, offset, length }
}

fn which(chance: &mut Chance) -> Which {
    match chance.below(4) {
        0 => Which::Current,
        1 => Which::Version(number(chance)),
        2 => Which::AsOf(number(chance)),
        _ => Which::Tag("t".to_owned()),
    }
}

fn of_versions(chance: &mut Chance, name: String) -> Request {
    let (sequence, version, tag) = (chance.below(50), number(chance), "t".to_owned());
    match chance.below(4) {
        0 => {
            let seconds = chance.one_in(2).then(|| number(chance));
            Request::Keep { sequence, name, keep: Keep { versions: small(chance), seconds } }
        }
        1 => {
            let version = chance.one_in(2).then_some(version);
            Request::Tag { sequence, name, tag, version }
        }
        2 => Request::Untag { sequence, name, tag },
        _ => Request::DropVersion { sequence, name, version },
    }
}

fn request(chance: &mut Chance, arena: ArenaId) -> Request {
    let name = match chance.below(5) {
        0 => "b".to_owned(),
        1 => String::new(),
        2 => "x".repeat(usize::try_from(chance.below(100_000)).unwrap()),
        3 => "../b\0".to_owned(),
        _ => "rubbish".to_owned(),
    };
    let wait_ms = if chance.one_in(2) { 0 } else { chance.below(3) };
    match chance.below(22) {
        0 => Request::Arena { bytes: number(chance), wait_ms },
        1 => Request::Grow { arena, to: number(chance), wait_ms },
        2 => Request::Return { arena: ArenaId(small(chance)) },
        3 => Request::Slots { to: chance.below(1 << 20) },
        4 => Request::Slots { to: number(chance) },
        5 => Request::Drop { sequence: number(chance), name: "rubbish".to_owned() },
        6 => Request::Rename { sequence: number(chance), from: "rubbish".to_owned(), to: name },
        7 => Request::Confirm {
            manifest: EntryId(small(chance)),
            generation: Generation(small(chance)),
        },
        8 => Request::Find { name, which: which(chance) },
        9 => Request::Corrupt { entry: EntryId(small(chance)) },
        10 => Request::Verified { entry: EntryId(small(chance)) },
        11 => Request::Evict { session: SessionId(number(chance)) },
        12 => Request::Spare { slots: number(chance) },
        13 => hello(),
        14 => Request::Log { name },
        15..=18 => of_versions(chance, name),
        _ => {
            let count = chance.below(4);
            let partitions: Vec<u64> = (0..chance.below(3)).map(|_| number(chance)).collect();
            let statistics = (0..chance.below(3)).map(|_| vec![9; 3]).collect();
            let columns = (0..chance.below(5))
                .map(|_| ColumnRef {
                    chunk: u32::try_from(chance.below(5)).unwrap(),
                    layout: u32::try_from(chance.below(3)).unwrap(),
                })
                .collect();
            let draft = Draft {
                schema: vec![7; usize::try_from(chance.below(100)).unwrap()],
                num_columns: u32::try_from(chance.below(4)).unwrap(),
                partitions,
                columns,
                layouts: vec![vec![1, 2, 3]; usize::try_from(chance.below(3)).unwrap()],
                statistics,
            };
            Request::Commit(Box::new(Commit {
                sequence: chance.below(50),
                name: if chance.one_in(4) { name } else { "rubbish".to_owned() },
                if_exists: [IfExists::Replace, IfExists::Append][usize::from(chance.one_in(2))],
                expect: chance.one_in(3).then(|| chance.below(3)),
                made: Made { note: "n".repeat(small(chance) as usize % 9000), ..Made::default() },
                restored: chance
                    .one_in(4)
                    .then(|| Restored { version: number(chance), created_ns: number(chance) }),
                source: "r".repeat(usize::try_from(chance.below(1000)).unwrap()),
                chunks: (0..count)
                    .map(|_| Sealed { place: place(chance, arena), checksum: number(chance) })
                    .collect(),
                draft,
            }))
        }
    }
}

/// Bytes that are no message, or a part of one; some connections are held open.
fn no_messages(scene: &Scene, chance: &mut Chance, held: &mut Vec<UnixStream>) -> u64 {
    let mut sent = 0;
    for _ in 0..times(40) {
        let mut stream = connect(scene);
        let mut bytes = vec![0; usize::try_from(chance.below(5000)).unwrap()];
        bytes.fill_with(|| u8::try_from(chance.below(256)).unwrap());
        if bytes.len() > 4 && chance.one_in(2) {
            let length = u32::try_from(bytes.len() - 4).unwrap();
            bytes[..4].copy_from_slice(&length.to_le_bytes());
        }
        let _ = stream.write_all(&bytes);
        if chance.one_in(2) {
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
        }
        sent += 1;
    }
    // Lengths that nothing follows, at once and held open.
    for length in [0, 1, 0xFF, 256 << 20, (256 << 20) + 1, u32::MAX] {
        let mut stream = connect(scene);
        stream.write_all(&length.to_le_bytes()).unwrap();
        held.push(stream);
        sent += 1;
    }
    // Half a message, from a client that then stops, or goes.
    let whole = frame(Epoch(0), &hello());
    for cut in 0..whole.len() {
        let mut stream = connect(scene);
        stream.write_all(&whole[..cut]).unwrap();
        if chance.one_in(2) {
            held.push(stream);
        }
        sent += 1;
    }
    sent
}

#[test]
fn rubbish_on_the_socket() {
    let scene = Scene::new("rubbish", Setting { capacity: Some(64 << 20), ..Setting::default() });
    let mut chance = scene.chance.borrow().clone();
    scene.start();
    let mut client = scene.client("a client");
    client.ask("put a 1 m").ok();
    client.ask("hold one a").ok();
    let mut held = Vec::new();
    let mut sent = no_messages(&scene, &mut chance, &mut held);
    // Sound messages where they do not belong.
    for request in [Request::List, Request::Stop, Request::Spare { slots: 1 }, Request::Info] {
        let answer = ask(&mut connect(&scene), Epoch(1), &request);
        assert!(matches!(answer, Some(Response::Refused(Refusal::Unsound { .. }))), "{answer:?}");
    }
    let answer = ask(
        &mut connect(&scene),
        Epoch(0),
        &Request::Hello { protocol: 77, pid: 0, resume: None, arenas: Vec::new() },
    );
    assert!(matches!(answer, Some(Response::Refused(Refusal::Protocol { .. }))), "{answer:?}");
    for round in 0..times(40) {
        let (mut stream, _alive, epoch) = introduced(&scene);
        if round % 4 == 0 {
            let answer = ask(&mut stream, Epoch(epoch.0.wrapping_add(9)), &Request::List);
            assert!(matches!(answer, Some(Response::Refused(Refusal::Epoch { .. }))));
        }
        let arena = match ask(&mut stream, epoch, &Request::Arena { bytes: 1 << 16, wait_ms: 0 }) {
            Some(Response::Arena { arena, .. }) => arena,
            other => panic!("{other:?}"),
        };
        for _ in 0..40 {
            let request = request(&mut chance, arena);
            let answer = ask(&mut stream, epoch, &request);
            assert!(answer.is_some(), "the daemon has hung up on {request:?}");
            sent += 1;
        }
        // Sessions of others are not to be had for the asking: the pool's number is a secret
        // only to accident.
        let resume = Resume { session: SessionId(number(&mut chance)), pool: 7, attempt: 1 };
        let hello = Request::Hello {
            protocol: PROTOCOL_VERSION,
            pid: 1,
            resume: Some(resume),
            arenas: vec![arena; 1000],
        };
        let answer = ask(&mut connect(&scene), Epoch(0), &hello);
        assert!(matches!(answer, Some(Response::Welcome { .. })), "{answer:?}");
        assert!(!scene.daemon().is_gone(), "the daemon is gone");
    }
    drop(held);
    client.ask("check one").ok();
    assert_eq!(client.ask("read a").ok(), ["1", "1"]);
    client.ask("put a 2 l").ok();
    client.ask("release one").ok();
    client.end();
    let pool = scene.connect();
    for frame in pool.frames().unwrap() {
        pool.drop_frame(&frame.name).unwrap();
    }
    drop(pool);
    eprintln!("{sent} pieces of rubbish");
    scene.aftermath(0, "rubbish");
    // What it wrote of all this is read again.
    scene.kill_daemon();
    scene.start();
    scene.aftermath(0, "after rubbish");
}

/// Twenty clients that ask and never read.
#[test]
fn clients_that_do_not_listen() {
    let scene = Scene::new("deaf", Setting::default());
    scene.start();
    let mut client = scene.client("a client");
    for i in 0..200 {
        client.ask(&format!("put {i:0>100} {i} s")).ok();
    }
    let mut deaf = Vec::new();
    for _ in 0..20 {
        let (mut stream, _alive, epoch) = introduced(&scene);
        stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        let list = frame(epoch, &Request::List);
        while stream.write_all(&list).is_ok() {}
        deaf.push(stream);
    }
    client.ask("put a 1 m").ok();
    assert_eq!(client.ask("read a").ok()[0], "1");
    drop(deaf);
    client.end();
    let pool = scene.connect();
    for frame in pool.frames().unwrap() {
        pool.drop_frame(&frame.name).unwrap();
    }
    drop(pool);
    scene.aftermath(0, "deaf");
}

/// A daemon that was stopped and went on read what its clients had given up, in any order: a
/// late hello closed an arena that a later one had been granted, and a late request for an
/// arena granted one that nobody knew of.
#[test]
fn only_the_last_connection_of_a_client_is_heard() {
    let scene = Scene::new("last connection", Setting::default());
    scene.start();
    let mut first = connect(&scene);
    let Some((Response::Welcome { session, epoch, pool, .. }, _alive)) =
        ask_fd(&mut first, Epoch(0), &hello())
    else {
        panic!("no welcome")
    };
    let resume = |attempt, arenas| Request::Hello {
        protocol: PROTOCOL_VERSION,
        pid: 1,
        resume: Some(Resume { session, pool, attempt }),
        arenas,
    };
    let wanted = Request::Arena { bytes: 1 << 16, wait_ms: 0 };
    let mut second = connect(&scene);
    let welcome = ask(&mut second, Epoch(0), &resume(2, Vec::new()));
    assert!(matches!(welcome, Some(Response::Welcome { .. })), "{welcome:?}");
    let Some(Response::Arena { arena, incarnation, .. }) = ask(&mut second, epoch, &wanted) else {
        panic!("no arena")
    };
    // The hello that was given up comes now.
    let late = ask(&mut connect(&scene), Epoch(0), &resume(1, Vec::new()));
    assert!(matches!(late, Some(Response::Refused(Refusal::NoSession { .. }))), "{late:?}");
    for request in [&wanted, &Request::List] {
        let answer = ask(&mut first, epoch, request);
        assert!(matches!(answer, Some(Response::Refused(_))), "{answer:?}");
    }
    let place = Place { arena, incarnation, offset: 0, length: 64 };
    let commit = Request::Commit(Box::new(Commit {
        sequence: 1,
        name: "a".to_owned(),
        if_exists: IfExists::Fail,
        expect: None,
        made: Made::default(),
        restored: None,
        source: String::new(),
        chunks: vec![Sealed { place, checksum: 7 }],
        draft: Draft::default(),
    }));
    let committed = ask(&mut second, epoch, &commit);
    assert!(matches!(committed, Some(Response::Committed { version: 1 })), "{committed:?}");
    drop((first, second, _alive));
    let watcher = scene.connect();
    watcher.drop_frame("a").unwrap();
    drop(watcher);
    scene.aftermath(0, "the last connection");
}
