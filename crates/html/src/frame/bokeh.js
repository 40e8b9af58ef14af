"use strict";
function draw(script, run) {
  run(script);
}
