//! Runs code in a kernel that already runs, and prints what it tells.
//!
//! `console CONNECTION_FILE CODE...` queues every CODE; `console CONNECTION_FILE` reads one from stdin.
//! `console CONNECTION_FILE --time N` measures how long `1+1` takes.
//! Ctrl-C interrupts what runs.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;
use std::io::{Read, Write, stdin, stdout};
use std::time::{Duration, Instant};

use kernel::{Client, ConnectionInfo, Event, Execute, ExecutionId, OutputArea};
use notebook::Output;
use tokio::sync::mpsc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: console CONNECTION_FILE CODE...")?;
    let info: ConnectionInfo = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let began = Instant::now();
    let client = kernel::connect(&info, Duration::from_secs(60), std::future::pending()).await?;
    let kernel = client.info();
    println!("{} {} ready in {:?}", kernel.implementation, kernel.implementation_version, began.elapsed());
    let mut codes: Vec<String> = arguments.collect();
    if let [option, count] = &*codes
        && option == "--time"
    {
        return time(&client, count.parse()?).await;
    }
    if codes.is_empty() {
        let mut code = String::new();
        stdin().read_to_string(&mut code)?;
        codes.push(code);
    }
    run(&client, codes).await
}

async fn run(client: &Client, codes: Vec<String>) -> Result<(), Box<dyn Error>> {
    let (sender, mut events) = mpsc::unbounded_channel();
    client.orphans(Box::new(|event| println!("orphan: {event:?}")));
    let mut running: Vec<(ExecutionId, OutputArea)> = Vec::new();
    for (number, code) in codes.into_iter().enumerate() {
        let sender = sender.clone();
        let sink = Box::new(move |event| drop(sender.send((number, event))));
        running.push((client.execute(Execute::new(code), sink), OutputArea::new()));
    }
    drop(sender);
    let (mut left, began) = (running.len(), Instant::now());
    loop {
        let (number, event) = tokio::select! {
            event = events.recv() => event.ok_or("an execution did not end")?,
            pressed = tokio::signal::ctrl_c() => {
                pressed?;
                println!("interrupted: {:?}", client.interrupt_message().await);
                continue;
            }
        };
        let elapsed = began.elapsed();
        let (id, area) = &mut running[number];
        area.take(event.clone());
        match event {
            Event::Output { output: Output::Stream { .. }, .. } => {}
            Event::Output { output, display_id } => {
                println!("{elapsed:?} {number}: {} {display_id:?}", short(&output));
            }
            Event::InputWanted { prompt, .. } => {
                print!("{prompt}");
                stdout().flush()?;
                let mut line = String::new();
                stdin().read_line(&mut line)?;
                client.answer_input(id, line.trim_end().to_owned());
                continue;
            }
            Event::Finished(outcome) => {
                println!("{elapsed:?} {number}: {outcome:?}");
                left -= 1;
                for output in area.outputs() {
                    println!("  {}", short(output));
                }
            }
            other => println!("{elapsed:?} {number}: {other:?}"),
        }
        if left == 0 {
            return Ok(());
        }
    }
}

fn short(output: &Output) -> String {
    let text = match output {
        Output::Stream { name, text } => {
            let lines: usize = text.pieces().map(|piece| piece.matches('\n').count()).sum();
            return format!("{name}: {lines} lines, {} bytes", text.len());
        }
        Output::Display(bundle) | Output::Result { bundle, .. } => {
            let members = bundle.members().into_iter();
            return format!("{:?}", members.map(|(mime, it)| (mime, it.bytes().len())).collect::<Vec<_>>());
        }
        other => format!("{other:?}"),
    };
    text.chars().take(600).collect()
}

async fn time(client: &Client, count: usize) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let (sender, mut events) = mpsc::unbounded_channel();
        let began = Instant::now();
        client.execute(Execute::new("1+1"), Box::new(move |event| drop(sender.send(event))));
        while let Some(event) = events.recv().await {
            if matches!(event, Event::Finished(_)) {
                break;
            }
        }
        times.push(began.elapsed());
    }
    times.sort_unstable();
    println!("p50 {:?}  p95 {:?}", times[count / 2], times[count * 95 / 100]);
    Ok(())
}
