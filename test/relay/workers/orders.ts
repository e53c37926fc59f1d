/** The orders for a test's worker, by number. */
export const ORDERS = ["nothing", "spin", "exhaust", "throw", "exit", "fail", "linger"] as const;
export type Order = (typeof ORDERS)[number];
