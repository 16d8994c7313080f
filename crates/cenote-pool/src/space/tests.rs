use super::*;
use crate::protocol::board::{Identity, Shape};

const MIB: u64 = 1 << 20;

fn space(directory: &tempfile::TempDir) -> Space {
    let dir = RunDir::at(directory.path());
    let shape = Shape { entries: 1 << 16, records: 1 << 16, arenas: 1 << 10 };
    let board = BoardFile::open(&dir)
        .or_else(|_| BoardFile::create(&dir, Identity { boot: 1, pool: 2, shape }))
        .unwrap();
    Space::open(dir, board, 64 * MIB).unwrap()
}

/// A writer that was killed while its arena grew left what the arena was to have: dead, and
/// never given back, since the arena had been closed by what was granted before.
#[test]
fn what_an_arena_is_given_after_its_writer_has_gone_is_dead() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let mut space = space(&directory);
    let writer = SessionId(7);
    let plan = space.plan(writer, MIB).unwrap();
    let owner = space.filled(&plan, &fill(&plan)).unwrap();
    let id = plan.arena;
    let chunk = Place { arena: id, incarnation: owner.incarnation, offset: 0, length: 5000 };
    space.occupy(writer, &chunk).unwrap();
    let more = space.plan_more(id, 8 * MIB).unwrap();
    space.close(id);
    space.filled(&more, &fill(&more));
    let mut given_back = 0;
    for (id, file, ranges) in space.take_dead() {
        for range in ranges {
            punch(&*file, range.start, range.end - range.start).unwrap();
            given_back += range.end - range.start;
        }
        space.punched(id);
    }
    assert_eq!(given_back, 8 * MIB - 8192);
    assert_eq!(space.arena(id).unwrap().allocated(), 8192);
}

/// Each restart stepped over all the numbers for which the board had room.
#[test]
fn a_number_of_an_arena_is_given_once_and_none_is_stepped_over() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    for round in 0..5 {
        let mut space = space(&directory);
        let plan = space.plan(SessionId(7), MIB).unwrap();
        assert_eq!(plan.arena, ArenaId(round));
        space.filled(&plan, &fill(&plan));
        space.close(plan.arena);
        space.trim(0);
        assert!(space.arena(plan.arena).is_none());
    }
}
