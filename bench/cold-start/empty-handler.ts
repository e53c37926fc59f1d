/** What a function cannot be faster than. */
export const handler = async (): Promise<Record<string, never>> => ({});
