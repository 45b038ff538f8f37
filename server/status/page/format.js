
"use strict";
// ---- Figures as text. Protobuf's JSON has 64-bit integers as texts, so numbers go through n(). ----

const n = (value) => Number(value) || 0;

// What a browser would not show, or would let change the order of the text around it.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const plain = (text) => String(text ?? "").replace(HIDDEN, "\ufffd");

const thousands = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});
const count = (value) => thousands.format(n(value));

function rate(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  return value < 99.95 ? value.toFixed(1) : thousands.format(value);
}

const percent = (share) => `${Math.round(100 * Math.min(1, Math.max(0, n(share))))} %`;

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = n(value), unit = 0;
  while (size >= 1024 && unit < units.length - 1) size /= 1024, ++unit;
  return `${size >= 100 || unit === 0 || Number.isInteger(size) ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}

// 0.0066 → "6.6 ms"
function duration(seconds) {
  if (seconds === null || !Number.isFinite(seconds)) return "–";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 0.01) return `${(seconds * 1e3).toFixed(1)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1e3)} ms`;
  return seconds < 10 ? `${seconds.toFixed(1)} s` : age(seconds);
}

// 93784 → "1 d 2 h"
function age(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`;
}

const two = (value) => String(value).padStart(2, "0");
function clock(ms, seconds = false) {
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}${seconds ? `:${two(at.getSeconds())}` : ""}`;
}
// Today's times have no date.
function day(ms) {
  const at = new Date(ms);
  if (at.toDateString() === new Date().toDateString()) return clock(ms);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(ms)}`;
}

// As penstockctl shows it: its first eight hexadecimal digits.
const short = (fingerprint) => BigInt(fingerprint).toString(16).padStart(16, "0").slice(0, 8);

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const plural = (number, noun) => `${count(number)} ${noun}${n(number) === 1 ? "" : "s"}`;
