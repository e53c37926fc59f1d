/** What a test's worker is told to do, by number. */
export const ORDERS = ["nothing", "spin", "exhaust", "throw", "exit", "fail", "linger"] as const;
export type Order = (typeof ORDERS)[number];
