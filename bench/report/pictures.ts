import type { Results } from "#bench/measurement.ts";
import { drawLatencies } from "#bench/report/latency-picture.ts";
import { drawThroughput } from "#bench/report/throughput-picture.ts";
import { formatRowTitle } from "#bench/report/titles.ts";

/** One picture of a report. */
export interface Picture {
  /** The name of its file, such as `latency-1000-at-once.svg`. */
  readonly file: string;
  readonly title: string;
  /** The row of the picture; undefined for several rows. */
  readonly row: string | undefined;
  readonly svg: string;
}

/** The folder of the pictures, relative to the page. */
export const PICTURE_FOLDER = "pictures";

/** The pattern of picture files, for removing old ones. */
export const PICTURE_FILE = /^(latency-[a-z0-9-]+|throughput)\.svg$/;

/**
 * Draws all pictures with numbers: the latencies of each row, then the throughput. The same results give the
 * same bytes.
 */
export function drawPictures(results: Results): Picture[] {
  const latencies = results.rows.map((row) => ({
    file: `latency-${row.id.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.svg`,
    title: `${formatRowTitle(row)}: time from registration to schedulable`,
    row: row.id,
    svg: drawLatencies(row, results.measurements),
  }));
  const throughput = {
    file: "throughput.svg",
    title: "Throughput over the number of nodes",
    row: undefined,
    svg: drawThroughput(results),
  };
  return [...latencies, throughput].flatMap(({ svg, ...picture }) =>
    svg === undefined ? [] : [{ ...picture, svg }],
  );
}
