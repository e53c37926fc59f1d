import type { Results } from "#bench/measurement.ts";
import { latencyPicture } from "#bench/report/latency-picture.ts";
import { throughputPicture } from "#bench/report/throughput-picture.ts";
import { rowTitle } from "#bench/report/titles.ts";

/** One picture of a report. */
export interface Picture {
  /** The name of its file, such as `latency-1000-at-once.svg`. */
  readonly file: string;
  readonly title: string;
  /** The row it is of; undefined where it is of several. */
  readonly row: string | undefined;
  readonly svg: string;
}

/** Where pictures are, seen from the page that shows them. */
export const PICTURE_FOLDER = "pictures";

/** How the files of pictures are called, for those who clear them away. */
export const PICTURE_FILE = /^(latency-[a-z0-9-]+|throughput)\.svg$/;

/** All pictures that there are numbers for: the latencies of each row, then the throughput. The same results make the same bytes. */
export function picturesOf(results: Results): Picture[] {
  const latencies = results.rows.map((row) => ({
    file: `latency-${row.id.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.svg`,
    title: `${rowTitle(row)}: time from registration to schedulable`,
    row: row.id,
    svg: latencyPicture(row, results.measurements),
  }));
  const throughput = {
    file: "throughput.svg",
    title: "Throughput over the number of nodes",
    row: undefined,
    svg: throughputPicture(results),
  };
  return [...latencies, throughput].flatMap(({ svg, ...picture }) =>
    svg === undefined ? [] : [{ ...picture, svg }],
  );
}
