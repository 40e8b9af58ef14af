"use strict";
function draw(script) {
  (0, eval)(script);
}
