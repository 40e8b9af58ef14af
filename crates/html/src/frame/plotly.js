"use strict";
function draw(figure) {
  const chart = document.getElementById("chart");
  const layout = { height: 450, ...figure.layout };
  const config = { displaylogo: false, ...figure.config, responsive: true, plotlyServerURL: "" };
  return Plotly.newPlot(chart, { ...figure, layout, config });
}
