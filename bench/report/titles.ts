import type { ContenderName, Row } from "#bench/measurement.ts";
import { formatCount } from "#bench/report/numbers.ts";

/** The names of contenders in tables and pictures. */
export const CONTENDER_TITLES = {
  floor: "floor",
  "floor-with-events": "floor with Events",
  "stock-defaults": "AWS CCM, defaults",
  "stock-tuned": "AWS CCM, tuned",
  run: "serverless-ccm run",
  lambda: "serverless-ccm on Lambda",
  "lambda-8": "serverless-ccm on Lambda, 8 environments",
} as const satisfies Record<ContenderName, string>;

/** Returns a row in words, such as `1,000 nodes at once`. */
export function formatRowTitle({ nodes, providerIds, arrival }: Row): string {
  const words = `${formatCount(nodes)} nodes`;
  return `${words}${formatArrival(arrival)}${providerIds ? "" : ", without provider IDs"}`;
}

function formatArrival(arrival: Row["arrival"]): string {
  switch (arrival.kind) {
    case "there":
      return " that are there before";
    case "at-once":
      return " at once";
    case "rate":
      return ` at ${arrival.nodesPerSecond} per second`;
  }
}
