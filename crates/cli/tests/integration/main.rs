//! The program as its users meet it: a child process, an agent on its standard input or on HTTP, and a tab.

mod allowed;
mod arguments;
mod asking;
mod bridge;
mod colab_agents;
mod colab_place;
mod colab_tabs;
mod demo;
mod drop_in;
mod forwarding;
mod handshake;
mod heartbeat;
mod http;
mod install;
mod large;
mod losing;
mod notebooks;
mod opening;
mod pages;
mod places;
mod progress;
mod secrets;
mod session;
mod sharing;
mod stuck;
mod tools;
