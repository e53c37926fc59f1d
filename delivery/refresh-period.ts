import type { ApiObject, ResyncPolicy } from "#core/controller.ts";
import type { Settings } from "#core/settings.ts";

/**
 * Returns the seconds between two refreshes of a cluster's objects; undefined if the controller leaves the
 * period to the caller.
 */
export function getRefreshPeriod<T extends ApiObject>(
  { everySeconds }: ResyncPolicy<T>,
  settings: Settings,
): number | undefined {
  return typeof everySeconds === "function" ? everySeconds(settings) : everySeconds;
}
