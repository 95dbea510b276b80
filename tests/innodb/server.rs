//! A throw-away MariaDB: its own directory and socket, no network, small files; stopped when dropped.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::program::TestProgram;
use testkit::tree::TempDir;

/// A server's page size and the format of its tables.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub page_bytes: u32,
    /// `innodb_checksum_algorithm`.
    pub format: &'static str,
}

/// A server that runs.
pub struct Server {
    mariadbd: Option<Child>,
    place: Option<TempDir>,
    cell: Cell,
}

/// What a stopped one leaves behind.
pub struct DataDirectory {
    place: TempDir,
    cell: Cell,
}

/// How long a server may take to answer.
const START_LIMIT: Duration = Duration::from_secs(120);

impl Server {
    /// Makes a data directory, starts the server and fills it. An error says what is missing.
    pub fn start(cell: Cell) -> Result<Self, String> {
        for program in ["mariadbd", "mariadb", "mariadb-install-db", "innochecksum"] {
            TestProgram::find(program).ok_or_else(|| format!("{program} is not installed"))?;
        }
        let place = TempDir::new().map_err(|error| format!("no directory: {error}"))?;
        let mut server = Self { mariadbd: None, place: Some(place), cell };
        let key = |number: u8| format!("{number};{}\n", format!("{:02x}", 0x11 * number).repeat(32));
        fs::write(server.path("keys"), key(1) + &key(2)).map_err(|error| format!("no key file: {error}"))?;
        let mut install = Command::new("mariadb-install-db");
        install.args(server.options()).args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        let made = install.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !made.is_ok_and(|status| status.success()) {
            return Err(format!("mariadb-install-db failed for {cell:?}"));
        }
        let mut mariadbd = Command::new("mariadbd");
        mariadbd.args(server.options()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        server.mariadbd = Some(mariadbd.spawn().map_err(|error| format!("mariadbd does not start: {error}"))?);
        server.wait()?;
        server.run(&server.tables()).then_some(()).ok_or_else(|| format!("no tables can be made for {cell:?}"))?;
        Ok(server)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.as_ref().expect("it is not stopped").path().join(name)
    }

    /// Where its files are.
    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.mariadbd.as_ref().expect("it runs").id()
    }

    fn options(&self) -> Vec<String> {
        let Cell { page_bytes, format } = self.cell;
        let (pool, file) = if page_bytes > 16384 { ("24M", "12M") } else { ("8M", "6M") };
        let path = |name| self.path(name).display().to_string();
        vec![
            "--no-defaults".to_owned(),
            "--user=root".to_owned(),
            format!("--datadir={}", path("data")),
            format!("--socket={}", path("socket")),
            format!("--pid-file={}", path("pid")),
            format!("--log-error={}", path("log")),
            format!("--tmpdir={}", path("")),
            "--skip-networking".to_owned(),
            format!("--innodb-page-size={page_bytes}"),
            format!("--innodb-checksum-algorithm={format}"),
            format!("--innodb-buffer-pool-size={pool}"),
            format!("--innodb-data-file-path=ibdata1:{file};ibdata2:{file}:autoextend"),
            "--innodb-log-file-size=4M".to_owned(),
            "--innodb-undo-tablespaces=2".to_owned(),
            "--innodb-encrypt-tables=OFF".to_owned(),
            "--plugin-load-add=file_key_management".to_owned(),
            "--file-key-management".to_owned(),
            format!("--file-key-management-filename={}", path("keys")),
        ]
    }

    fn wait(&mut self) -> Result<(), String> {
        let begin = Instant::now();
        while !self.run("select 1") {
            let has_ended = self.mariadbd.as_mut().is_none_or(|child| child.try_wait().is_ok_and(|end| end.is_some()));
            if has_ended || begin.elapsed() > START_LIMIT {
                return Err(format!("mariadbd does not answer for {:?}", self.cell));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn client(&self) -> Command {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "-uroot", "-S"]).arg(self.path("socket"));
        client.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        client
    }

    fn run(&self, statements: &str) -> bool {
        self.client().args(["-e", statements]).status().is_ok_and(|status| status.success())
    }

    /// A table in each format, with large objects, free pages and a spatial index.
    fn tables(&self) -> String {
        let columns = "(id int primary key, a varchar(200), b mediumblob, key(a))";
        let rows = "select seq, md5(seq), if(seq % 50 = 0, repeat(md5(seq), 400), '') from seq_1_to_";
        let table = |name: &str, options: &str, count: u32| {
            format!("create table {name} {columns} {options}; insert into {name} {rows}{count};")
        };
        let mut text = "create database t; use t;".to_owned();
        text += &table("plain", "", 1500);
        text += &table("redundant", "row_format=redundant", 400);
        text += &table("squeezed", "page_compressed=1", 1500);
        text += &table("secret", "encrypted=yes encryption_key_id=1", 1000);
        text += &table("secret_squeezed", "encrypted=yes encryption_key_id=1 page_compressed=1", 1500);
        if self.cell.page_bytes <= 16384 {
            let small = format!("row_format=compressed key_block_size={}", self.cell.page_bytes >> 11);
            text += &table("small", &small, 600);
            text += &table("smallest", "row_format=compressed key_block_size=1", 300);
            text += &table("secret_small", &format!("{small} encrypted=yes encryption_key_id=2"), 600);
        }
        text += &table("freed", "", 1500);
        text += "delete from freed where id > 50;";
        text += "create table spatial_one (g geometry not null, spatial index(g));";
        text += "insert into spatial_one select point(seq, seq) from seq_1_to_300;";
        text + "set global innodb_fast_shutdown = 0;"
    }

    /// Inserts, updates and deletes until it is told to end.
    pub fn write_on(&self) -> Writing {
        let work = "insert into t.plain select max(id) + 1, md5(rand()), repeat('x', 3000) from t.plain; \
                    update t.plain set a = md5(rand()) where id % 7 = 0; \
                    delete from t.plain where id > 1500 and id % 3 = 0; \
                    create or replace table t.comes as select * from t.redundant; truncate table t.freed;";
        let mut client = self.client();
        let client = client.args(["--force", "-e", &work.repeat(200)]).spawn().expect("it started before");
        Writing(client)
    }

    /// Ends it in good order.
    pub fn stop(mut self) -> DataDirectory {
        self.run("shutdown");
        if let Some(mut mariadbd) = self.mariadbd.take() {
            mariadbd.wait().expect("it is ours");
        }
        DataDirectory { place: self.place.take().expect("once"), cell: self.cell }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut mariadbd) = self.mariadbd.take() {
            let _over = mariadbd.kill().and_then(|()| mariadbd.wait());
        }
    }
}

/// A client that writes.
pub struct Writing(Child);

impl Writing {
    /// Ends it.
    pub fn end(mut self) {
        let _over = self.0.kill().and_then(|()| self.0.wait());
    }
}

impl DataDirectory {
    /// Where its files are.
    pub fn path(&self) -> PathBuf {
        self.place.path().join("data")
    }

    /// A table's tablespace.
    pub fn table(&self, name: &str) -> PathBuf {
        self.path().join("t").join(name).with_extension("ibd")
    }

    /// What made it.
    pub fn cell(&self) -> Cell {
        self.cell
    }
}
