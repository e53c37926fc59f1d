/** The lower bound of a function's time. */
export const handler = async (): Promise<Record<string, never>> => ({});
