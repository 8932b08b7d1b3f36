//! A server that does nothing: it reads a request and writes the same answer, whatever was asked. What it reaches is what
//! sockets and load generator leave to any server on this machine, so that nobody can have a higher ratio than it has.

use crate::request::noise;
use crate::work::SMALL;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

/// As many as nginx has workers.
const THREADS: usize = 2;

#[derive(clap::Args)]
pub struct Options {
    #[arg(long)]
    port: u16,
}

/// One thread's connections, none of which is ever forgotten: the process does not live long.
struct Share {
    queue: OwnedFd,
    streams: Mutex<Vec<TcpStream>>,
}

pub fn run(options: &Options) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
    let share = || Ok(Share { queue: epoll::create(CreateFlags::CLOEXEC)?, streams: Mutex::default() });
    let shares: Vec<Share> = (0..THREADS).map(|_| share()).collect::<io::Result<_>>()?;
    std::thread::scope(|scope| {
        for share in &shares {
            scope.spawn(|| share.serve().expect("sockets can be waited for"));
        }
        for (stream, share) in listener.incoming().zip(shares.iter().cycle()) {
            share.take(stream?)?;
        }
        Ok(())
    })
}

impl Share {
    fn take(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let data = EventData::new_u64(streams.len() as u64);
        epoll::add(&self.queue, &stream, data, EventFlags::IN | EventFlags::ET)?;
        streams.push(stream);
        Ok(())
    }

    fn serve(&self) -> io::Result<()> {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SMALL}\r\n\r\n").into_bytes();
        let whole = [&head[..], &noise(SMALL)].concat();
        let (mut events, mut buffer) = (Vec::with_capacity(256), vec![0; 64 << 10]);
        loop {
            match epoll::wait(&self.queue, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
            for event in events.drain(..) {
                let mut stream = &streams[event.data.u64() as usize];
                // A head of our generator comes in one piece. A client that has gone is not answered.
                let answer = match stream.read(&mut buffer) {
                    Ok(0) => continue,
                    Ok(_) if buffer.starts_with(b"HEAD") => &head,
                    Ok(_) => &whole,
                    Err(_) => continue,
                };
                let _ = stream.write(answer);
            }
        }
    }
}
