"use strict";
function draw(figure, run) {
  const chart = document.getElementById("chart");
  const layout = { height: 450, ...figure.layout };
  const config = { displaylogo: false, ...figure.config, responsive: true, plotlyServerURL: "" };
  // Without `eval`, nothing is drawn with WebGL.
  const data = run === add && Array.isArray(figure.data) ? figure.data.map(withoutWebGl) : figure.data;
  return Plotly.newPlot(chart, { ...figure, data, layout, config });
}
// Plotly Express takes these for more than 1000 points. The others draw the same, and take too long for very many.
function withoutWebGl(trace) {
  const along = trace.x ?? trace.r;
  const points = along?.length ?? (along?.bdata?.length ?? 0) / 8;
  const isPlain = ["scattergl", "scatterpolargl"].includes(trace.type) && points <= 50000;
  return isPlain ? { ...trace, type: trace.type.slice(0, -2) } : trace;
}
