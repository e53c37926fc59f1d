import type * as z from "zod";
import type { ACTIONS, RouteActionName } from "#core/route/state.ts";

/** One action that is to be done. */
export type Step = {
  readonly [Name in RouteActionName]: {
    readonly action: Name;
    readonly target: string;
    readonly parameters: z.output<(typeof ACTIONS)[Name]>;
  };
}[RouteActionName];
