/**
 * The columns of the table: a title, and its text in the legend. A narrow screen shows the title next to each
 * cell.
 */
export const COLUMNS: readonly { readonly title: string; readonly legend: string }[] = [
  { title: "Cluster", legend: "its name; the bar next to it has the colour of its state" },
  { title: "State", legend: "the worst that is known of it, in the words above" },
  { title: "Objects", legend: "nodes, Services and others that its API server lists" },
  { title: "To do", legend: "objects that need work" },
  { title: "Being done", legend: "objects that a function has now" },
  {
    title: "What waits, and why",
    legend: "how many, since when (UTC), the one that waits longest, and its controller",
  },
  {
    title: "Missed",
    legend: "nodes and Services that the last sweep found waiting, and the relay should have sent",
  },
  {
    title: "Cloud API",
    legend: "calls that the cloud throttled, and seconds that calls were held back, since this process began",
  },
  { title: "Deletions", legend: "nodes whose deletion the cluster's brake holds back" },
  {
    title: "Until usable",
    legend: "from a node's creation until pods can be scheduled on it, since this process began",
  },
];

/** The state of a cluster. The page shows a word for each and gives it a colour of the same name. */
export type Health = "failing" | "stopped" | "limited" | "misconfigured" | "waiting" | "ok";

/** The words and their meanings, the worst first. */
export const HEALTH: Readonly<Record<Health, { readonly word: string; readonly legend: string }>> = {
  failing: {
    word: "not ready",
    legend: "its API server cannot be followed; only the sweep serves it",
  },
  stopped: {
    word: "stopped",
    legend: "an operator has stopped something, or what is stopped cannot be read",
  },
  limited: { word: "limited", legend: "it exceeds its limits; everything within them is served" },
  misconfigured: {
    word: "misconfigured",
    legend: "its current entry cannot be used; the previous one stays in use",
  },
  waiting: { word: "waiting", legend: "it is followed, and something has waited for longer than a minute" },
  ok: { word: "ok", legend: "it is followed, and nothing has waited for longer than a minute" },
};
