// Draws <div data-chart> with uPlot. The server's update changes the attribute; the drawing itself is never morphed.
(() => {
  const drawn = new WeakMap();
  const HEIGHT = 160;
  const SHORT = 96;
  // Steps of an axis of durations, so that it reads 30 s, 1 m, 2 m and not 1.7 m, 3.3 m.
  const ROUND_MS = [
    0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 1200e3,
    1800e3, 3600e3, 7200e3, 21600e3, 43200e3, 86400e3, 172800e3, 604800e3,
  ];

  // What an axis without a value above zero goes up to.
  const FLAT = { rate: 2, count: 2, ms: 1000 };
  // Tasks are whole, and their rates read well in 1, 2, 5.
  const ROUND = [0.1, 0.2, 0.5, ...[...Array(12).keys()].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power))];

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function short(value) {
    const size = Math.abs(value);
    if (size >= 1e6) return `${+(value / 1e6).toFixed(1)}M`;
    if (size >= 1e4) return `${+(value / 1e3).toFixed(1)}k`;
    return String(+value.toFixed(size < 1 ? 2 : size < 10 ? 1 : 0));
  }

  function duration(ms) {
    if (ms < 1000) return `${+ms.toFixed(ms < 10 ? 1 : 0)} ms`;
    if (ms < 60e3) return `${+(ms / 1e3).toFixed(1)} s`;
    if (ms < 3600e3) return `${+(ms / 60e3).toFixed(1)} min`;
    return `${+(ms / 3600e3).toFixed(1)} h`;
  }

  function options(chart, width, node) {
    const label = chart.unit === "ms" ? duration : short;
    const axis = { stroke: color("--text-3"), font: "11px system-ui, sans-serif", ticks: { show: false } };
    return {
      width,
      height: node.closest(".is-short") ? SHORT : HEIGHT,
      padding: [8, 18, 0, 0],
      legend: { show: false },
      cursor: { points: { size: 6 }, drag: { setScale: false }, sync: { key: "dtq" } },
      scales: { y: { range: (plot, low, high) => [0, high > 0 ? high * 1.1 : FLAT[chart.unit]] } },
      axes: [
        { ...axis, size: 26, grid: { show: false }, values: (plot, times) => times.map((at) => clock(at, times)) },
        {
          ...axis,
          size: 58,
          space: 24,
          incrs: chart.unit === "ms" ? ROUND_MS : ROUND,
          grid: { stroke: color("--chart-grid"), width: 1 },
          values: (plot, values) => values.map(label),
        },
      ],
      series: [
        {},
        ...chart.lines.map((line) => ({
          label: line.label,
          stroke: color(`--chart-${line.swatch}`),
          width: 1.6,
          spanGaps: false,
          points: {
            show: true,
            size: 5,
            fill: color(`--chart-${line.swatch}`),
            filter: (plot, series) => lonely(plot.data[series]),
          },
          value: (plot, value) => (value == null ? "—" : label(value)),
        })),
      ],
      hooks: { setCursor: [(plot) => tell(plot, chart, label)] },
    };
  }

  // A value between two gaps has no line to either side; only a dot shows it.
  function lonely(values) {
    return [...values.keys()].filter((i) => values[i] != null && values[i - 1] == null && values[i + 1] == null);
  }

  function clock(at, times) {
    const moment = new Date(at * 1000);
    const days = times.length > 1 && times[times.length - 1] - times[0] > 172800;
    return days
      ? moment.toLocaleDateString(undefined, { month: "short", day: "numeric" })
      : moment.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
  }

  // What the pointer is on is said in the card's note; it returns to the summary when the pointer leaves.
  function tell(plot, chart, label) {
    const note = plot.root.closest("figure")?.querySelector(".chart-note");
    if (!note) return;
    const index = plot.cursor.idx;
    if (index == null) {
      if (note.dataset.summary) note.textContent = note.dataset.summary;
      delete note.dataset.summary;
      return;
    }
    note.dataset.summary ||= note.textContent;
    const times = plot.data[0];
    const far = times[times.length - 1] - times[0] > 43200;
    const at = new Date(times[index] * 1000).toLocaleString(undefined, {
      ...(far ? { month: "short", day: "numeric" } : {}),
      hour: "2-digit",
      minute: "2-digit",
      hour12: false,
    });
    const values = chart.lines.map((line, i) => {
      const value = plot.data[i + 1][index];
      return `${line.label} ${value == null ? "—" : label(value)}`;
    });
    note.textContent = `${at}: ${values.join(", ")}`;
  }

  function draw(node) {
    const text = node.dataset.chart;
    const old = drawn.get(node);
    const key = `${text.length}:${document.documentElement.dataset.theme}:${node.clientWidth}`;
    if (old && old.text === text && old.key === key) return;
    const chart = JSON.parse(text);
    const data = [chart.times, ...chart.lines.map((line) => line.values)];
    const look = `${document.documentElement.dataset.theme}:${node.clientWidth}`;
    if (old && old.look === look) {
      old.plot.setData(data);
      drawn.set(node, { ...old, text, key });
      return;
    }
    old?.plot.destroy();
    const style = getComputedStyle(node);
    const width = node.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const plot = new uPlot(options(chart, Math.max(width, 120), node), data, node);
    drawn.set(node, { plot, text, key, look });
  }

  function all() {
    for (const node of document.querySelectorAll("[data-chart]")) draw(node);
  }

  let resizing = 0;
  window.addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(all, 150);
  });
  document.addEventListener("dtq:theme", all);
  document.addEventListener("htmx:after:settle", all);
  all();
})();
