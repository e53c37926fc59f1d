# Python reads this before moto_server, whose folder is told by PYTHONPATH. Of the rules of a security group moto allows as many as AWS does
# to whoever has not asked for more, and there is no setting for it: an account that has more is one where that check knows another number.

import os

from moto.ec2.exceptions import RulesPerSecurityGroupLimitExceededError
from moto.ec2.models.security_groups import SecurityGroupBackend

MOST = int(os.environ["RULES_PER_SECURITY_GROUP"])


def verify(self, group, current_rule_nb, ip_ranges, source_groups=None, egress=False):
    if current_rule_nb + len(ip_ranges or []) + len(source_groups or []) > MOST:
        raise RulesPerSecurityGroupLimitExceededError


# A moto that has renamed it would keep to its own number without a word.
assert hasattr(SecurityGroupBackend, "_verify_group_will_respect_rule_count_limit")
SecurityGroupBackend._verify_group_will_respect_rule_count_limit = verify
