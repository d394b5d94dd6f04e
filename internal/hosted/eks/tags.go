package eks

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/internal/hosted/cloud"
)

// tagsOf sets keys, and removes others, in two requests. EKS has neither an operation for it,
// nor a token, nor a version. So the tags are read before, and compared with those that it
// was decided on, and again after: what somebody else has set meanwhile is not passed over.
// What remains are the moments in between.
func (c *Client) tagsOf(ctx context.Context, r request) (*types.Update, error) {
	wanted := r.config.Tags
	if r.Item != "" {
		wanted = r.group.Tags
	}
	now, err := c.listTags(ctx, r.arn)
	if err != nil {
		return nil, err
	}
	for key, value := range wanted {
		// After a crash, it may be as it should be already.
		if !equal(now, key, r.tags[key]) && !equal(now, key, value) {
			return nil, fmt.Errorf("%w: the tag %s is another than was read", cloud.ErrBusy, key)
		}
	}
	set, remove := split(wanted)
	if len(remove) > 0 {
		if _, err := c.API.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: &r.arn, TagKeys: remove}); err != nil {
			return nil, err
		}
	}
	if len(set) > 0 {
		if _, err := c.API.TagResource(ctx, &eks.TagResourceInput{ResourceArn: &r.arn, Tags: set}); err != nil {
			return nil, err
		}
	}
	return nil, c.verifyTags(ctx, r.arn, wanted)
}

func (c *Client) verifyTags(ctx context.Context, arn string, wanted map[string]*string) error {
	now, err := c.listTags(ctx, arn)
	if err != nil {
		return err
	}
	for key, value := range wanted {
		if !equal(now, key, value) {
			return fmt.Errorf("the tag %s was sent, and is another now: somebody else is changing it", key)
		}
	}
	return nil
}

func (c *Client) listTags(ctx context.Context, arn string) (map[string]string, error) {
	out, err := c.API.ListTagsForResource(ctx, &eks.ListTagsForResourceInput{ResourceArn: &arn})
	if err != nil {
		return nil, err
	}
	return out.Tags, nil
}

// equal tells whether a key has a value; nil if it should not be there.
func equal(tags map[string]string, key string, value *string) bool {
	has, ok := tags[key]
	return ok == (value != nil) && has == aws.ToString(value)
}
