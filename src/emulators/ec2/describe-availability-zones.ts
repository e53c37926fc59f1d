import type { Action } from "./action.ts";
import { createFault, isFault } from "./fault.ts";
import { createFilter, type Fields, readFilters } from "./filters.ts";
import { renderItems } from "./xml.ts";
import type { Zone } from "./zone.ts";

const ZONE_FIELDS: Fields<Zone> = {
  byName: {
    "zone-name": ({ name }) => [name],
    "zone-id": ({ id }) => [id],
    "zone-type": () => ["availability-zone"],
    state: () => ["available"],
  },
};

/** Returns the zones of the region, with their names in this account and their IDs. */
export const describeAvailabilityZones: Action = ({ parameters, region, zones }) => {
  const filters = readFilters(parameters, ZONE_FIELDS);
  if (isFault(filters)) return filters;
  const names = parameters.list("ZoneName");
  const ids = parameters.list("ZoneId");
  const unknown = [
    ...names.filter((name) => !zones.some((zone) => zone.name === name)),
    ...ids.filter((id) => !zones.some((zone) => zone.id === id)),
  ];
  if (unknown.length > 0) {
    return createFault("InvalidParameterValue", `Invalid availability zone: [${unknown.join(", ")}]`);
  }
  const passes = createFilter(filters, ZONE_FIELDS);
  const found = zones.filter(
    (zone) =>
      (names.length === 0 || names.includes(zone.name)) &&
      (ids.length === 0 || ids.includes(zone.id)) &&
      passes(zone),
  );
  return {
    kind: "answer",
    content: {
      availabilityZoneInfo: renderItems(found, (zone) => ({
        zoneName: zone.name,
        zoneId: zone.id,
        zoneState: "available",
        zoneType: "availability-zone",
        regionName: region,
        optInStatus: "opt-in-not-required",
        groupName: region,
        networkBorderGroup: region,
        messageSet: "",
      })),
    },
    results: found.length,
  };
};
